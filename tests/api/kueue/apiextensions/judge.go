// What does a real API server say about our definitions, and about objects of theirs?
//
// Usage: judge CRDS.yaml CASES.json. A case is {"new": object} or {"new": object, "old": object}.
// The answer is JSON: refusals by definition, and one list of refusals per case. Decoding,
// defaulting, schema validation and CEL are Kubernetes' own packages.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"math"
	"os"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	v1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdvalidation "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"
)

type object = map[string]any

type answer struct {
	Definitions map[string][]string `json:"definitions"`
	Cases       [][]string          `json:"cases"`
}

// judge knows one version of one kind.
type judge struct {
	structural *schema.Structural
	values     validation.SchemaValidator
	rules      *cel.Validator
}

func main() {
	log.SetFlags(0)
	found := answer{Definitions: map[string][]string{}, Cases: [][]string{}}
	judges := map[string]judge{}
	for _, crd := range read(os.Args[1]) {
		found.Definitions[crd.Name] = texts(acceptable(crd))
		for _, version := range crd.Spec.Versions {
			key := crd.Spec.Group + "/" + version.Name + "/" + crd.Spec.Names.Kind
			judges[key] = judgeOf(version.Schema.OpenAPIV3Schema)
		}
	}
	raw, err := os.ReadFile(os.Args[2])
	must(err)
	var cases []struct{ New, Old json.RawMessage }
	must(json.Unmarshal(raw, &cases))
	for _, one := range cases {
		var after, before object
		must(utiljson.Unmarshal(one.New, &after))
		if len(one.Old) > 0 {
			must(utiljson.Unmarshal(one.Old, &before))
		}
		key := after["apiVersion"].(string) + "/" + after["kind"].(string)
		found.Cases = append(found.Cases, texts(judges[key].refusals(after, before)))
	}
	must(json.NewEncoder(os.Stdout).Encode(found))
}

func read(path string) []*v1.CustomResourceDefinition {
	file, err := os.Open(path)
	must(err)
	reader := utilyaml.NewYAMLReader(bufio.NewReader(file))
	var crds []*v1.CustomResourceDefinition
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return crds
		}
		must(err)
		crd := &v1.CustomResourceDefinition{}
		must(yaml.UnmarshalStrict(document, crd))
		crds = append(crds, crd)
	}
}

func acceptable(crd *v1.CustomResourceDefinition) field.ErrorList {
	v1.SetDefaults_CustomResourceDefinition(crd)
	v1.SetDefaults_CustomResourceDefinitionSpec(&crd.Spec)
	internal := &apiextensions.CustomResourceDefinition{}
	must(v1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(crd, internal, nil))
	for _, version := range crd.Spec.Versions {
		if version.Storage {
			internal.Status.StoredVersions = []string{version.Name}
		}
	}
	return crdvalidation.ValidateCustomResourceDefinition(context.Background(), internal)
}

func judgeOf(props *v1.JSONSchemaProps) judge {
	internal := &apiextensions.JSONSchemaProps{}
	must(v1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(props, internal, nil))
	structural, err := schema.NewStructural(internal)
	must(err)
	values, _, err := validation.NewSchemaValidator(internal)
	must(err)
	return judge{structural, values, cel.NewValidator(structural, true, celconfig.PerCallLimit)}
}

func (j judge) refusals(after, before object) field.ErrorList {
	var old any // a nil map in an interface would not be nil
	for _, state := range []object{after, before} {
		if state != nil {
			pruning.Prune(state, j.structural, true)
			defaulting.PruneNonNullableNullsWithoutDefaults(state, j.structural)
			defaulting.Default(state, j.structural)
		}
	}
	if before != nil {
		old = before
	}
	errs := validation.ValidateCustomResource(nil, after, j.values)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, j.structural, after)...)
	if len(errs) > 0 {
		return errs
	}
	found, _ := j.rules.Validate(context.Background(), nil, j.structural, after, old, math.MaxInt64)
	return found
}

func texts(errs field.ErrorList) []string {
	found := []string{}
	for _, err := range errs {
		found = append(found, err.Error())
	}
	return found
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
