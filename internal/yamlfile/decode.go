package yamlfile

import "github.com/goccy/go-yaml"

// Decode decodes an embedded file into a T, by the names of its fields. An error in such a file is a bug.
func Decode[T any](file []byte) *T {
	v := new(T)
	if err := yaml.UnmarshalWithOptions(file, v, yaml.Strict()); err != nil {
		panic("yamlfile: " + err.Error())
	}
	return v
}
