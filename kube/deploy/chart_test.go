package deploy_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"text/template"

	"sigs.k8s.io/yaml"

	"github.com/yardmaster/yardmaster/kube/lab"
)

// files are a chart's, as Helm gives them to templates.
type files string

// Get returns a file's text.
func (f files) Get(name string) (string, error) {
	text, err := os.ReadFile(filepath.Join(string(f), name))
	return string(text), err
}

// The chart makes what kustomize makes, but for the namespace, which is Helm's to create.
func TestChart(t *testing.T) {
	kubectl := filepath.Join(lab.Programs(t), "kubectl")
	for _, mode := range []string{"controller", "scheduler"} {
		t.Run(mode, func(t *testing.T) {
			out, err := exec.CommandContext(t.Context(), kubectl, "kustomize", mode).Output()
			check(t, err)
			want := objects(t, string(out))
			delete(want, "v1 Namespace yardmaster")
			values := map[string]any{}
			text, err := os.ReadFile("chart/values.yaml")
			check(t, err)
			check(t, yaml.Unmarshal(text, &values))
			values["mode"] = mode
			have := map[string]any{}
			templates, err := filepath.Glob("chart/templates/*")
			check(t, err)
			for _, name := range templates {
				text, err := os.ReadFile(name)
				check(t, err)
				// Of Helm's functions the chart uses this one.
				page, err := template.New(name).Funcs(template.FuncMap{"replace": func(old, with, s string) string { return strings.ReplaceAll(s, old, with) }}).Parse(string(text))
				check(t, err)
				var b bytes.Buffer
				check(t, page.Execute(&b, map[string]any{"Values": values, "Files": files("chart"), "Release": map[string]any{"Namespace": "yardmaster"}}))
				for key, o := range objects(t, b.String()) {
					have[key] = o
				}
			}
			for key, o := range want {
				if !reflect.DeepEqual(have[key], o) {
					t.Errorf("%s\nkustomize: %v\nchart:     %v", key, o, have[key])
				}
			}
			for key := range have {
				if want[key] == nil {
					t.Errorf("only the chart has %s", key)
				}
			}
		})
	}
}

// objects are those of a YAML text, by kind and name, without the namespace of the installation.
func objects(t *testing.T, text string) map[string]any {
	t.Helper()
	all := map[string]any{}
	for part := range strings.SplitSeq(text, "\n---\n") {
		var o map[string]any
		check(t, yaml.Unmarshal([]byte(part), &o))
		if o == nil {
			continue
		}
		meta := o["metadata"].(map[string]any)
		if meta["namespace"] == "yardmaster" {
			delete(meta, "namespace")
		}
		key := strings.Join([]string{o["apiVersion"].(string), o["kind"].(string), meta["name"].(string)}, " ")
		if all[key] != nil {
			t.Errorf("%s twice", key)
		}
		all[key] = o
	}
	return all
}
