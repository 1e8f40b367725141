package edit_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/yarn/conf"
	"github.com/yardmaster/yardmaster/yarn/edit"
)

// A whole new file is turned into changes: set, changed and removed; other queues are refused.
func TestDifference(t *testing.T) {
	file := func(settings ...string) []byte {
		var b strings.Builder
		for _, s := range settings {
			name, value, _ := strings.Cut(s, "=")
			fmt.Fprintf(&b, "<property><name>%s%s</name><value>%s</value></property>", conf.Prefix, name, value)
		}
		return []byte("<configuration>" + b.String() + "</configuration>")
	}
	now := file("root.queues=a,b", "root.a.capacity=40", "root.b.capacity=60", "root.b.maximum-capacity=80", "root.a.yardmaster.journal=x:/y")
	for want, then := range map[string][]byte{
		"": now,
		"root.a.capacity=70 root.b.capacity=30 node-locality-delay=5 root.b.maximum-capacity=": file("root.queues=a,b", "root.a.capacity=70", "root.b.capacity=30", "node-locality-delay=5"),
	} {
		if got, _, err := edit.Difference("new.xml", now, then); err != nil || edit.Words(got) != want {
			t.Errorf("%v, %v, want %s", got, err, want)
		}
	}
	other := []byte(strings.Replace(string(now), "</configuration>", "<property><name>yarn.nodemanager.vmem</name><value>1</value></property></configuration>", 1))
	if _, ignored, err := edit.Difference("new.xml", other, other); err != nil || fmt.Sprint(ignored) != "[yarn.nodemanager.vmem]" {
		t.Errorf("ignored: %v, %v", ignored, err)
	}
	for want, then := range map[string][]byte{
		"new.xml has other queues below root": file("root.queues=a", "root.a.capacity=100"),
		"only with a CapacityScheduler's":     []byte("<allocations/>"),
	} {
		if _, _, err := edit.Difference("new.xml", now, then); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
