"""The store's contract. (Being built.)"""
