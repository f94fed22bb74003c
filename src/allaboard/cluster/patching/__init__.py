"""How a patch changes an object: JSON, merge and strategic patch, apply and field ownership. Pure.

No function changes what it is given: results share every untouched part with their inputs, so a
stored object can be patched without a copy. May import api and cluster.schema.

    json_patch.apply_json_patch(doc, ops) -> doc
    merge_patch.apply_merge_patch(doc, patch) -> doc
    strategic.apply_strategic_patch(doc, patch, schema) -> doc
    managed.track_update(old, new, schema, manager, now) -> managedFields of `new`
    apply.apply(live, config, schema, manager, now, force) -> merged object with managedFields
    resets.reset_fields(resource, subresource) -> for Manager(reset=...)

Start with: `managed.py` for who owns a field, `apply.py` for how ownership decides a merge.
"""
