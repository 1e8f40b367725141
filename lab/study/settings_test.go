package study

import (
	"path/filepath"
	"testing"

	"github.com/yardmaster/yardmaster/lab/hadoop"
	"github.com/yardmaster/yardmaster/scenario"
	"github.com/yardmaster/yardmaster/yarn/edit"
)

// TestSettingsArms predicts every arm: the changes made by hand must matter, or there is nothing to measure.
func TestSettingsArms(t *testing.T) {
	s := Settings{Size: SettingsFull, Dir: filepath.Join("..", "..", "docs", "studies", "settings-live")}
	arms, err := s.arms()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range arms {
		file, err := edit.Apply("capacity-scheduler.xml", []byte(queues("settings")), a.Changes)
		if err != nil {
			t.Fatal(err)
		}
		r := &SizedRecord{Arm: a.Name, Workload: s.Size.made(), Conf: string(file), Site: hadoop.Properties("", site(s.Size.PerNode<<10, 1024))}
		for range s.Size.Nodes {
			r.Nodes = append(r.Nodes, NodeRecord{Name: string(rune('a' + len(r.Nodes))), Port: 1, Rack: "/r", MB: s.Size.PerNode << 10})
		}
		out, err := r.predict(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		m, err := r.elapsed(out.End)
		t.Log(a.Name, m, err)
	}
}

func TestSettingsExport(t *testing.T) {
	dir := t.TempDir()
	s := Settings{Size: SettingsMini}
	if err := s.Export(dir); err != nil {
		t.Fatal(err)
	}
	sc, err := scenario.Load(dir)
	if err == nil {
		_, err = sc.Resolve()
	}
	if err != nil {
		t.Error(err)
	}
}
