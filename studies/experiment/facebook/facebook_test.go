package facebook

import (
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload/swim"
)

func TestStandIn(t *testing.T) {
	jobs, err := StandIn(300, unit.GiB)(swim.Default())
	if err != nil || len(jobs) != 300 {
		t.Fatal(len(jobs), err)
	}
	n := map[string]int{}
	for _, j := range jobs {
		n[j.Class]++
		if err := j.Validate(); err != nil || j.Tasks() > 20 {
			t.Errorf("%s: %d tasks, %v", j.ID, j.Tasks(), err)
		}
	}
	if len(n) != 3 {
		t.Errorf("classes: %v", n)
	}
}

func TestAbsent(t *testing.T) {
	t.Setenv(Folder, "")
	if _, err := File(FB2010)(swim.Default()); err == nil || !strings.Contains(err.Error(), Folder) {
		t.Error(err)
	}
	t.Setenv(Folder, t.TempDir())
	if _, err := File(FB2010)(swim.Default()); err == nil {
		t.Error("no error")
	}
}
