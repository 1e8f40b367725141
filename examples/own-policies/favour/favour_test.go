package favour

import (
	"testing"

	"github.com/yardmaster/yardmaster/steer"
)

func TestStep(t *testing.T) {
	policy, err := Entry.New(&steer.Setup{Queue: "root.a", Set: []string{"user=ana"}})
	if err != nil {
		t.Fatal(err)
	}
	do, _ := policy.Step(&steer.Snapshot{Jobs: []steer.Job{
		{ID: "hers", User: "ana", Queue: "root.a"},
		{ID: "running", User: "ana", Queue: "root.a", Started: true},
		{ID: "elsewhere", User: "ana", Queue: "root.b"},
		{ID: "his", User: "bob", Queue: "root.a"},
	}})
	if len(do) != 1 || do[0].Job != "hers" || do[0].Kind != steer.SetPriority || do[0].Value != 5 {
		t.Errorf("%+v", do)
	}
	if _, err := Entry.New(&steer.Setup{}); err == nil {
		t.Error("nobody to favour")
	}
}
