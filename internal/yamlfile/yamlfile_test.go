package yamlfile

import (
	"fmt"
	"strings"
	"testing"
)

func read(t *testing.T, text string) (map[string]string, error) {
	t.Helper()
	n, err := Parse("f.yaml", []byte(text))
	if err != nil {
		return nil, err
	}
	got := map[string]string{}
	var name string
	var list []string
	var count, mem int64
	err = n.Read("the file", []string{"name", "list", "count", "memory"}, Keys{
		"name": Str(&name), "list": Strs(&list), "count": Int(&count, 1, 10), "memory": Mem(&mem),
	})
	got["name"], got["list"] = name, strings.Join(list, "|")
	return got, err
}

func TestRead(t *testing.T) {
	got, err := read(t, "# a comment\nname: 600x6/30 # six hundred\nlist:\n  - a\n  - \"b: c\"\ncount: 3\nmemory: 4GB\n")
	if err != nil || got["name"] != "600x6/30" || got["list"] != "a|b: c" {
		t.Errorf("got %v, %v", got, err)
	}
	if got, err := read(t, "list: alone\n"); err != nil || got["list"] != "alone" {
		t.Errorf("one value for a list: %v, %v", got, err)
	}
	if _, err := read(t, ""); err != nil {
		t.Errorf("an empty file: %v", err)
	}
	if got, err := read(t, "name: 0123\n"); err != nil || got["name"] != "0123" {
		t.Errorf("a number as text: %v, %v", got, err)
	}
}

func TestErrorsSayWhere(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"name: x\nlsit: a\n", "f.yaml:2:1: the file has no key \"lsit\"; did you mean \"list\"?\n  2 | lsit: a\n    | ^"},
		{"zzzzzz: a\n", "f.yaml:1:1: the file has no key \"zzzzzz\"; it has name, list, count, memory\n  1 | zzzzzz: a\n    | ^"},
		{"name: x\ncount: many\n", "f.yaml:2:8: \"many\" is not a whole number\n  2 | count: many\n    |        ^"},
		{"count: 11\n", "f.yaml:1:8: 11 is not between 1 and 10\n  1 | count: 11\n    |        ^"},
		{"memory: much\n", "f.yaml:1:9: \"much\" is not an amount of data: write 128MB, 1.5GiB or 77B\n  1 | memory: much\n    |         ^"},
		{"name: a\nname: b\n", "f.yaml:2:1: "},
		{"name:\n  x: y\n", "f.yaml:2:3: should be one value, not a mapping\n  2 |   x: y\n    |   ^"},
		{"- a\n", "f.yaml:1:1: the file should be a mapping with name, list, count, memory, not a list\n  1 | - a\n    | ^"},
		{"name: &a x\nlist: *a\n", "f.yaml:1:7: uses an anchor"},
		{"name: [a\n", "f.yaml:1:"},
		{"name:\n", "f.yaml:1:1: a value is missing after the key\n  1 | name:\n    | ^"},
	} {
		_, err := read(t, c.text)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%q:\n got %v\nwant %s", c.text, err, c.want)
		}
	}
}

// What would cost the parser more than its bytes is refused, and what people and programs write is not.
func TestLimits(t *testing.T) {
	r := strings.Repeat
	for name, c := range map[string]struct{ text, err string }{
		"depth":        {r("[", 17), "f:1:17: is nested too deep"},
		"blocks":       {r("- ", 17), "f:1:33: is nested too deep"},
		"keys":         {numbered("k%d: 1\n", maxKeys+1), "f:257:5: ends one key more than the 256"},
		"path":         {r("k", maxPath+1) + ": 1\n", "f:1:514: ends a key that makes more than 512 characters"},
		"omitted":      {r("-\n", maxOmitted+3), "comes after 4096 empty values"},
		"signs":        {r("#", maxPunctuation+1), "has more than 1048576 punctuation"},
		"size":         {r(" ", MaxSize+1), "f:1:1: is larger than 8 MiB"},
		"anchor":       {"a: &x 1\n", "f:1:4: uses an anchor"},
		"plain":        {"a:\n  b:\n    - c: {d: [1, [2]]}\n", ""},
		"most keys":    {numbered("k%d: 1\n", maxKeys), ""},
		"keys again":   {r("- {a: 1, b: 2}\n- a: 1\n  b: 2\n", 2000), ""},
		"flow nodes":   {"nodes:\n" + numbered("- {name: n%d, rack: r, memory: 8GB, cores: 4}\n", 5000), ""},
		"bare keys":    {"- {" + strings.Repeat("a, ", maxOmitted+2) + "}\n", "comes after 4096 empty values"},
		"bare key":     {r("- {a}\n", maxOmitted+1), "comes after 4096 empty values"},
		"nodes":        {"groups:\n  - racks: [\"r-1\"]\n    names:\n" + numbered("      - \"node-%06d.rack-1.example.com\"\n", 100_000), ""},
		"single nodes": {"nodes:\n" + numbered("- name: n%d\n  rack: r\n  memory: 8GB\n  cores: 4\n", 5000), ""},
	} {
		_, err := Parse("f", []byte(c.text))
		if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s: %v, want %q", name, err, c.err)
		}
	}
}

func numbered(unit string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, unit, i)
	}
	return b.String()
}
