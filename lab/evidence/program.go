package evidence

import (
	"debug/buildinfo"
	"os/exec"
	"strings"

	"github.com/yardmaster/yardmaster/internal/build"
)

// Here names the program that is built from the working tree: by this binary's own stamp, or by Git where the build has none, as with go run.
func Here() string {
	if i := build.Read(); i.Revision != "" {
		return named(i)
	}
	revision, err := exec.Command("git", "rev-parse", "HEAD").Output()
	if err != nil {
		return "devel, commit unknown"
	}
	changed, err := exec.Command("git", "status", "--porcelain", "--", ":/", ":(top,exclude)docs").Output()
	return named(build.Info{Version: "devel", Revision: strings.TrimSpace(string(revision)), Modified: err != nil || len(changed) > 0})
}

// Program names the program in a file; "": the one that is built from here.
func Program(file string) string {
	if file == "" {
		return Here()
	}
	b, err := buildinfo.ReadFile(file)
	if err != nil {
		return "unknown: " + err.Error()
	}
	return named(build.From(b))
}

func named(i build.Info) string {
	if i.Revision == "" {
		return i.Version + ", commit unknown"
	}
	s := i.Version + ", commit " + i.Revision[:min(len(i.Revision), 12)]
	if i.Modified {
		s += " with changes"
	}
	return s
}
