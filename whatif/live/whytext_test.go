package live

import (
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/unit"
)

// Where the ResourceManager names another figure than the line above it, why says so.
func TestWhyDiffers(t *testing.T) {
	const said = "Application is added to the scheduler and is not yet activated. Queue's AM resource limit exceeded. Details : AM Partition = <DEFAULT_PARTITION>; " +
		"AM Resource Request = <memory:1024, vCores:1>; Queue Resource Limit for AM = <memory:2048, vCores:1>; User AM Resource Limit of the queue = <memory:512, vCores:1>"
	for _, c := range []struct {
		user   string
		mem    int64
		differ bool
	}{{"", 2048, false}, {"", 1024, true}, {"ann", 512, false}, {"ann", 2048, true}} {
		a := &App{ID: "application_1_0001", Diagnostics: said}
		x := &Explanation{App: a, Reasons: []policy.Reason{{Limit: "maximum-am-resource-percent", Queue: "root.ams", User: c.user, Max: unit.Resources{Mem: c.mem}}}}
		if c.user != "" {
			a.Diagnostics = strings.Replace(said, "Queue's AM", "User's AM", 1)
		}
		var b strings.Builder
		(&why{View: &View{}, Explanation: x}).Text(&b, 0)
		text := strings.Join(strings.Fields(b.String()), " ")
		if strings.Contains(text, "MiB are computed above. Its text dates from its last attempt") != c.differ {
			t.Errorf("%+v: %s", c, text)
		}
	}
}
