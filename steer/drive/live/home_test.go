package live

import (
	"strings"
	"testing"
)

// Names of folders stay apart, and short enough.
func TestFolderNames(t *testing.T) {
	long := "yarn:cluster," + strings.Repeat("resourcemanager.of.a.long.domain:8088,", 8)
	names := map[string]bool{}
	for _, id := range []string{"yarn:a/b", "yarn:a_2fb", "yarn:a,b", long, long + "x"} {
		name := FileName(id)
		if len(name) > 255 || strings.ContainsAny(name, "/:,") {
			t.Errorf("%q", name)
		}
		names[name] = true
	}
	if len(names) != 5 {
		t.Errorf("%v", names)
	}
}
