package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
)

func TestDispatch(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	for name, c := range map[string]struct {
		args      []string
		want, err string
	}{
		"help":            {nil, "up hadoop ", ""},
		"unknown":         {[]string{"fly"}, "", `unknown verb "fly"`},
		"half a verb":     {[]string{"up"}, "", `unknown verb "up"`},
		"status of none":  {[]string{"status", "--dir", dir}, "nothing is up in " + dir, ""},
		"down of none":    {[]string{"down", "--dir", dir}, "0 processes ended", ""},
		"wrong scheduler": {[]string{"up", "hadoop", "--dir", dir, "--scheduler", "lottery"}, "", "choose capacity or fair"},
		"wrong version":   {[]string{"fetch", "hadoop", "--version", "1.0"}, "", "choose one of"},
		"no workload":     {[]string{"unmanaged", "--dir", dir}, "", "--workload FILE"},
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
