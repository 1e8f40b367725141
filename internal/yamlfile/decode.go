package yamlfile

import "github.com/goccy/go-yaml"

// Decode reads a file that is part of the program into a T, by the names of its fields. What is wrong with such a file is a bug.
func Decode[T any](file []byte) *T {
	v := new(T)
	if err := yaml.UnmarshalWithOptions(file, v, yaml.Strict()); err != nil {
		panic("yamlfile: " + err.Error())
	}
	return v
}
