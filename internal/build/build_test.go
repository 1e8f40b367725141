package build

import (
	"runtime/debug"
	"testing"
)

func TestFrom(t *testing.T) {
	got := From(&debug.BuildInfo{
		Main: debug.Module{Version: "v1.2.3"},
		Settings: []debug.BuildSetting{
			{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.time", Value: "2026-01-01T00:00:00Z"}, {Key: "vcs.modified", Value: "true"}, {Key: "CGO_ENABLED", Value: "0"},
		},
	})
	if got.Version != "v1.2.3" || got.Revision != "abc" || !got.Modified || got.CGO || got.Time == "" {
		t.Errorf("%+v", got)
	}
	got = From(&debug.BuildInfo{Main: debug.Module{Path: "example.com/mine", Version: "v9"}, Deps: []*debug.Module{{Path: module, Version: "v1.2.3"}}})
	if got.Version != "v1.2.3" || got.Within != "example.com/mine" {
		t.Errorf("in another module: %+v", got)
	}
	if v := From(&debug.BuildInfo{}).Version; v != "devel" {
		t.Errorf("version %q of an unknown build", v)
	}
}
