package evidence

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/yardmaster/yardmaster/result"
)

// Page executes a study's template and writes the page to a file, if one is named. The template has own functions beside those that all pages share.
func Page(text, file string, data any, own template.FuncMap) (string, error) {
	funcs := template.FuncMap{
		"percent": func(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }, "join": strings.Join, "inc": func(i int) int { return i + 1 },
		"signed": func(share float64) string { return fmt.Sprintf("%+.1f %%", 100*share) }, "times": func(a, b float64) float64 { return a * b }, "over": func(a, b float64) float64 { return a / b },
		"quantile": func(v []float64, p float64) float64 { return result.Quantile(v, p) },
	}
	maps.Copy(funcs, own)
	t, err := template.New("page").Funcs(funcs).Parse(text)
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, data); err != nil {
		return "", err
	}
	if file != "" {
		if err = os.MkdirAll(filepath.Dir(file), 0o755); err == nil {
			err = os.WriteFile(file, b.Bytes(), 0o644)
		}
	}
	if err != nil {
		return "", fmt.Errorf("writing the report: %w", err)
	}
	return b.String(), nil
}
