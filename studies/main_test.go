package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"studies": main})
}

// TestScript types commands as a person would.
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata/script", RequireExplicitExec: true})
}

func TestDispatch(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	for name, c := range map[string]struct {
		args      []string
		want, err string
	}{
		"help":            {nil, "lab up hadoop ", ""},
		"unknown":         {[]string{"fly"}, "", `unknown verb "fly"`},
		"half a verb":     {[]string{"lab", "up"}, "", `unknown verb "lab up"`},
		"status of none":  {[]string{"lab", "status", "--dir", dir}, "nothing is up in " + dir, ""},
		"down of none":    {[]string{"lab", "down", "--dir", dir}, "0 processes ended", ""},
		"wrong scheduler": {[]string{"lab", "up", "hadoop", "--dir", dir, "--scheduler", "lottery"}, "", "choose capacity or fair"},
		"wrong version":   {[]string{"lab", "fetch", "hadoop", "--version", "1.0"}, "", "choose one of"},
		"an argument":     {[]string{"lab", "status", "now"}, "", `takes no arguments, only options: what is "now"?`},
		"no workload":     {[]string{"lab", "unmanaged", "--dir", dir}, "", "--workload FILE"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			err := dispatch(t.Context(), c.args, &out)
			if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
				t.Errorf("error %v, want %q", err, c.err)
			}
			if !strings.Contains(out.String(), c.want) {
				t.Errorf("printed %q, want %q", out.String(), c.want)
			}
		})
	}
}

func TestSettings(t *testing.T) {
	s := settings{}
	if err := s.Set("a=b=c"); err != nil || s["a"] != "b=c" {
		t.Errorf("%v, %v", s, err)
	}
	if err := s.Set("a"); err == nil {
		t.Error("a name without a value was taken")
	}
}
