// Package build identifies the running build, from what the Go toolchain wrote into the binary.
package build

import (
	"runtime"
	"runtime/debug"
)

const module = "github.com/yardmaster/yardmaster"

// Info is a build. It holds nothing that changes from run to run.
type Info struct {
	Version  string `json:"version"`            // a tag, a pseudo-version, or "devel"
	Within   string `json:"within,omitempty"`   // the main module, if it is another one; the commit is of that one then
	Revision string `json:"revision,omitempty"` // commit
	Time     string `json:"time,omitempty"`     // of the commit
	Modified bool   `json:"modified"`           // built from files that differ from the commit
	Go       string `json:"go"`
	Platform string `json:"platform"`
	CGO      bool   `json:"cgo"`
}

// Read returns the running build.
func Read() Info {
	b, ok := debug.ReadBuildInfo()
	if !ok {
		b = &debug.BuildInfo{}
	}
	return From(b)
}

// From returns the build described by a binary's build info.
func From(b *debug.BuildInfo) Info {
	i := Info{Version: b.Main.Version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	for _, d := range b.Deps { // another module's main, with policies of its own
		if d.Path == module {
			i.Version, i.Within = d.Version, b.Main.Path
			if d.Replace != nil {
				i.Version = d.Replace.Version
			}
		}
	}
	if i.Version == "" || i.Version == "(devel)" {
		i.Version = "devel"
	}
	for _, s := range b.Settings {
		switch s.Key {
		case "vcs.revision":
			i.Revision = s.Value
		case "vcs.time":
			i.Time = s.Value
		case "vcs.modified":
			i.Modified = s.Value == "true"
		case "CGO_ENABLED":
			i.CGO = s.Value == "1"
		}
	}
	return i
}

// Version is the version alone, with the module that added to it, if any.
func Version() string {
	i := Read()
	if i.Within != "" {
		return i.Version + " in " + i.Within
	}
	return i.Version
}
