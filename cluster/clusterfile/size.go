package clusterfile

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
)

// Size is the suffix of a file without node sizes: topology.json:6 or topology.json:4+2.
type Size struct {
	Containers, Maps, Reduces int64
}

var sized = regexp.MustCompile(`^(.+):([0-9]{1,6})(?:\+([0-9]{1,6}))?$`)

// cutSize splits FILE:SIZE.
func cutSize(spec string) (path string, s Size, ok bool) {
	m := sized.FindStringSubmatch(spec)
	if m == nil {
		return spec, s, false
	}
	n, err := strconv.ParseInt(m[2], 10, 64)
	if err != nil || n == 0 {
		return spec, s, false
	}
	if m[3] == "" {
		return m[1], Size{Containers: n}, true
	}
	r, err := strconv.ParseInt(m[3], 10, 64)
	return m[1], Size{Maps: n, Reduces: r}, err == nil
}

// isJSON distinguishes JSON from YAML, its superset: our YAML files never start with a brace.
func isJSON(data []byte) bool {
	text := strings.TrimLeft(string(bytes.TrimPrefix(data[:min(len(data), 4096)], []byte("\xef\xbb\xbf"))), " \t\r\n")
	return text != "" && (text[0] == '{' || text[0] == '[')
}
