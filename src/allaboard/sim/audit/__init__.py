"""An auditor of the committed log: recomputes from objects alone what must have held."""
