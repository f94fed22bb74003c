"""Which definitions are refused, and why."""

import pytest
from customs import definition, fields

from allaboard.api.meta import Json
from allaboard.cluster.crds.life import DefinitionStrategy
from allaboard.cluster.crds.structural import regex_problem

PATH = "spec.validation.openAPIV3Schema.properties[spec]"
STRING = {"type": "string"}
KEYED = {"type": "array", "x-kubernetes-list-type": "map"}


def problems(crd: Json) -> list[str]:
    strategy = DefinitionStrategy()
    strategy.default(crd)
    strategy.prepare_create(crd)
    return [str(e) for e in strategy.validate_create(crd)]


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        pytest.param(
            fields(b={}),
            f"{PATH}.properties[b].type: Required value: must not be empty for specified object"
            " fields",
            id="every field has a type",
        ),
        pytest.param(
            fields(b={"type": "array"}),
            f"{PATH}.properties[b].items: Required value: must be specified",
            id="a list says what is in it",
        ),
        pytest.param(
            fields(b={"$ref": "#/x"}),
            f"{PATH}.properties[b].$ref: Forbidden: $ref is not supported",
            id="no references",
        ),
        pytest.param(
            fields(b=STRING | {"default": 5}),
            f'{PATH}.properties[b].default: Invalid value: "integer":  in body must be of type'
            ' string: "integer"',
            id="a default obeys its schema",
        ),
        pytest.param(
            fields(b=fields(x=STRING) | {"default": {"y": 1}}),
            f'{PATH}.properties[b].default: Invalid value: {{"y":1}}: must not have unknown fields',
            id="a default is pruned",
        ),
        pytest.param(
            fields(b=KEYED | {"items": fields(k=STRING)}),
            f"{PATH}.properties[b].x-kubernetes-list-map-keys: Required value: must not be empty"
            " if x-kubernetes-list-type is map",
            id="a keyed list names its keys",
        ),
        pytest.param(
            fields(b=STRING | {"pattern": "("}),
            f'{PATH}.properties[b].pattern: Invalid value: "(": must be a valid regular'
            " expression, but isn't: error parsing regexp: missing closing ): `(`",
            id="a pattern is a regular expression",
        ),
        pytest.param(
            fields(b=STRING) | {"anyOf": [{"properties": {"c": {"minLength": 1}}}]},
            f"{PATH}.properties[c]: Required value: because it is defined in"
            f" {PATH}.anyOf[0].properties[c]",
            id="nothing hides in a combination",
        ),
        pytest.param(
            fields(b=STRING) | {"x-kubernetes-validations": [{"rule": "self.a =="}]},
            f'{PATH}.x-kubernetes-validations[0].rule: Invalid value: {{"Rule":"self.a ==",'
            '"Message":"","MessageExpression":"","Reason":null,"FieldPath":"",'
            '"OptionalOldSelf":null}: compilation failed: ERROR: <input>:1:10: Syntax error:'
            " mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false',"
            " 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}\n | self.a ==\n"
            " | .........^",
            id="a rule is a whole expression",
        ),
    ],
)
def test_schemas_that_are_refused(schema: Json, expected: str) -> None:
    assert problems(definition(schema)) == [expected]


def test_rules_in_cel_are_accepted_and_kept() -> None:
    schema = fields(b=STRING) | {"x-kubernetes-validations": [{"rule": "self.b != 'x'"}]}
    crd = definition(schema)
    assert problems(crd) == []
    kept = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    assert kept["x-kubernetes-validations"] == [{"rule": "self.b != 'x'"}]


def test_a_schema_of_absurd_depth_is_refused_not_walked() -> None:
    schema: Json = {"type": "object"}
    for _ in range(3000):
        schema = {"type": "object", "properties": {"x": schema}}
    assert "must not be nested deeper" in problems(definition(schema))[0]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"scope": "Global"},
         'spec.scope: Unsupported value: "Global": supported values: "Cluster", "Namespaced"'),
        ({"group": "x.k8s.io"}, "metadata.annotations[api-approved.kubernetes.io]: Required value"),
        ({"conversion": {"strategy": "Webhook"}}, "spec.conversion.webhookClientConfig: Required"),
        ({"additionalPrinterColumns": [{"name": "a", "type": "text", "jsonPath": ".x"}]},
         'spec.additionalPrinterColumns[0].type: Invalid value: "text"'),
        ({"selectableFields": [{"jsonPath": ".spec.zz"}]},
         'spec.selectableFields[0].jsonPath: Invalid value: ".spec.zz": is an invalid path'),
        ({"subresources": {"scale": {}}},
         "spec.subresources.scale.specReplicasPath: Required value"),
        ({"storage": False}, "spec.versions: Invalid value"),
        ({"name": "V_1"}, 'spec.versions[0].name: Invalid value: "V_1": a DNS-1035 label'),
        ({"deprecationWarning": "x"}, "spec.versions[0].deprecationWarning: Invalid value"),
    ],
)  # fmt: skip
def test_definitions_that_are_refused(changes: Json, expected: str) -> None:
    assert problems(definition(**changes))[0].startswith(expected)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("(", "missing closing ): `(`"),
        ("a)", "unexpected ): `a)`"),
        ("[a", "missing closing ]: `[a`"),
        ("*a", "missing argument to repetition operator: `*`"),
        ("a\\", "trailing backslash at end of expression: ``"),
    ],
)
def test_what_is_wrong_with_a_pattern(pattern: str, expected: str) -> None:
    assert regex_problem(pattern) == expected
