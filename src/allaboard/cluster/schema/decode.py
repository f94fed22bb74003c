"""Does this data fit its kind, and how would Go write it back?

`decode` is what the server calls for every object that comes in. The result is a new object
without unknown fields, with quantities and times in their normal form, without empty optional
values and with the empty values that Go cannot leave out. Free-form parts are shared with the
input, not copied.
"""

from dataclasses import dataclass, field

from allaboard.api.meta import Json
from allaboard.cluster.schema.clean import Unclean, cleaner
from allaboard.cluster.schema.node import Schema
from allaboard.cluster.schema.strict import DecodeError, decode_slowly

__all__ = ["DecodeError", "Decoded", "decode"]


@dataclass(slots=True)
class Decoded:
    """`complaints` are sentences such as `unknown field "spec.extra"`, in document order.

    With fieldValidation=Strict they make one refusal, with Warn one warning each.
    """

    data: Json
    complaints: list[str] = field(default_factory=list)


def decode(schema: Schema, data: object) -> Decoded:
    """Read `data` as the kind of `schema`. Raises DecodeError with Go's sentence.

    Doubled keys are noticed where the data comes from `codec.read_json(raw, doubles=True)`.
    """
    try:
        try:
            return Decoded(cleaner(schema)(data))
        except Unclean:
            return Decoded(*decode_slowly(schema, data))
    except RecursionError as error:
        raise DecodeError("exceeded max depth") from error
