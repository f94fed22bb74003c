// Prints how the messages of the built-in kinds lie on the wire, for protobuf_fields.txt of the
// server. First the kinds, then one line a message and one word a field: name=number:type, with
// [] for lists, {} for maps, ? for scalars that are meant even when zero, and the name - for a
// message whose fields belong to its parent.
//
//	cd tests/kubectl && go run . > ../../src/allaboard/cluster/server/protobuf_fields.txt
package main

import (
	"fmt"
	"reflect"
	"sort"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
)

var served = strings.Fields(`
	v1 admissionregistration.k8s.io/v1 apiextensions.k8s.io/v1 apps/v1 authentication.k8s.io/v1
	authorization.k8s.io/v1 autoscaling/v1 batch/v1 coordination.k8s.io/v1 discovery.k8s.io/v1
	events.k8s.io/v1 networking.k8s.io/v1 node.k8s.io/v1 policy/v1 rbac.authorization.k8s.io/v1
	scheduling.k8s.io/v1 storage.k8s.io/v1`)

// Types whose JSON is not that of their fields.
var special = map[string]string{
	"meta.Time": "time", "meta.MicroTime": "microtime", "meta.Duration": "duration",
	"resource.Quantity": "quantity", "intstr.IntOrString": "intorstring",
	"runtime.RawExtension": "raw", "meta.FieldsV1": "raw", "apiextensions.JSON": "raw",
	"apiextensions.JSONSchemaPropsOrArray":       "schemaorlist",
	"apiextensions.JSONSchemaPropsOrBool":        "schemaorbool",
	"apiextensions.JSONSchemaPropsOrStringArray": "schemaorstrings",
}

var scalars = map[reflect.Kind]string{
	reflect.String: "string", reflect.Bool: "bool", reflect.Int32: "int", reflect.Int64: "int",
	reflect.Float64: "double",
}

var lines = map[string]string{}

// short names a type by group and name, as in core.Pod.
func short(t reflect.Type) string {
	parts := strings.Split(t.PkgPath(), "/")
	last := parts[len(parts)-1]
	if last == "v1" {
		last = parts[len(parts)-2]
	}
	return last + "." + t.Name()
}

func isBytes(t reflect.Type) bool {
	return t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8
}

func typeOf(t reflect.Type) string {
	if name, found := scalars[t.Kind()]; found {
		return name
	}
	if name, found := special[short(t)]; found {
		return name
	}
	switch {
	case isBytes(t):
		return "bytes"
	case t.Name() == "ExtraValue":
		return "strings"
	case t.Kind() == reflect.Struct:
		visit(t)
		return short(t)
	}
	panic("no notation for " + t.String())
}

// word writes one field; what is no pointer and may be left out says nothing when it is zero.
func word(owner string, f reflect.StructField) string {
	number := strings.Split(f.Tag.Get("protobuf"), ",")[1]
	name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	t, mark := f.Type, ""
	if t.Kind() == reflect.Ptr {
		t, mark = t.Elem(), "?"
	} else if !strings.Contains(options, "omitempty") {
		mark = "?"
	}
	switch {
	case t.Kind() == reflect.Map:
		t, mark = t.Elem(), "{}"
	case t.Kind() == reflect.Slice && !isBytes(t):
		t, mark = t.Elem(), "[]"
	case t.Kind() == reflect.Struct:
		mark = ""
	}
	if name == "" {
		name = "-"
	}
	kind := typeOf(t)
	if strings.HasPrefix(kind, owner+".") {
		kind = kind[len(owner):]
	}
	return fmt.Sprintf("%s=%s:%s%s", name, number, kind, mark)
}

func visit(t reflect.Type) {
	name := short(t)
	if _, seen := lines[name]; seen {
		return
	}
	lines[name] = ""
	owner, _, _ := strings.Cut(name, ".")
	words := []string{name}
	for i := 0; i < t.NumField(); i++ {
		if tag := t.Field(i).Tag.Get("protobuf"); tag != "" && tag != "-" {
			words = append(words, word(owner, t.Field(i)))
		}
	}
	lines[name] = strings.Join(words, " ")
}

func main() {
	if err := apiextensions.AddToScheme(scheme.Scheme); err != nil {
		panic(err)
	}
	wanted := map[string]bool{}
	for _, version := range served {
		wanted[version] = true
	}
	var kinds, messages []string
	for gvk, t := range scheme.Scheme.AllKnownTypes() {
		_, isObject := t.FieldByName("ObjectMeta")
		isMeta := strings.HasSuffix(t.PkgPath(), "/meta/v1")
		if version := gvk.GroupVersion().String(); wanted[version] && isObject && !isMeta {
			visit(t)
			kinds = append(kinds, fmt.Sprintf("kind %s %s %s", version, gvk.Kind, short(t)))
		}
	}
	visit(reflect.TypeOf(meta.DeleteOptions{}))
	for _, line := range lines {
		messages = append(messages, line)
	}
	sort.Strings(kinds)
	sort.Strings(messages)
	fmt.Println(strings.Join(append(kinds, messages...), "\n"))
}
