package rest

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// listOf is a list of n applications as a ResourceManager sends it.
func listOf(n int) []byte {
	const app = `{"id":"application_1700000000000_%05d","user":"user%d","name":"daily report \"%d\"","queue":"root.batch",` +
		`"state":"FINISHED","finalStatus":"SUCCEEDED","progress":100.0,"trackingUI":"History",` +
		`"trackingUrl":"http://rm.example.com:8088/proxy/application_1700000000000_%05d/","diagnostics":"","clusterId":1700000000000,` +
		`"applicationType":"MAPREDUCE","applicationTags":"a,b","priority":0,"startedTime":1700000%06d,"launchTime":1700000%06d,` +
		`"finishedTime":1700009%06d,"elapsedTime":9000000,"amContainerLogs":"http://node.example.com:8042/node/containerlogs",` +
		`"allocatedMB":-1,"allocatedVCores":-1,"runningContainers":-1,"memorySeconds":123456789,"vcoreSeconds":123456,` +
		`"queueUsagePercentage":0.0,"resourceSecondsMap":{"entry":[{"key":"memory-mb","value":"123456789"},` +
		`{"key":"vcores","value":"123456"}]},"timeouts":{"timeout":[{"type":"LIFETIME","expiryTime":"UNLIMITED",` +
		`"remainingTimeInSeconds":-1}]},"resourceRequests":[],"logAggregationStatus":"SUCCEEDED","unmanagedApplication":false}`
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(app, i, i%7, i, i, i, i, i)
	}
	return []byte(`{"apps":{"app":[` + strings.Join(list, ",") + `]}}`)
}

// A list has the same elements in whatever pieces it comes, and small ones are decoded in one go: value by value takes twice as
// many allocations.
func TestSmallElementsInOneGo(t *testing.T) {
	data := listOf(200)
	read := func(r io.Reader) (apps []App) {
		take := func(a App) error { apps = append(apps, a); return nil }
		if err := decodeList(r, maxElement, 1<<30, []string{"apps", "app"}, take, func(c Cut) { t.Error(c) }); err != nil {
			t.Fatal(err)
		}
		return apps
	}
	var whole []App
	inOneGo := testing.AllocsPerRun(1, func() {
		if err := decodeWhole(data, &whole, "apps", "app"); err != nil {
			t.Fatal(err)
		}
	})
	for _, pieces := range []func(io.Reader) io.Reader{iotest.OneByteReader, iotest.HalfReader, iotest.DataErrReader} {
		got := read(pieces(bytes.NewReader(data)))
		if !slices.EqualFunc(got, whole, func(a, b App) bool { return fmt.Sprint(a) == fmt.Sprint(b) }) {
			t.Errorf("%d applications, want the %d of the whole answer", len(got), len(whole))
		}
	}
	if listed := testing.AllocsPerRun(1, func() { read(bytes.NewReader(data)) }); listed > 1.2*inOneGo {
		t.Errorf("%.0f allocations, in one go %.0f", listed, inOneGo)
	}
}

// BenchmarkList prints how many times as long as decoding the answer in one go, without limits, reading it as a list takes.
func BenchmarkList(b *testing.B) {
	data := listOf(10_000)
	b.SetBytes(int64(len(data)))
	var whole, listed time.Duration
	for b.Loop() {
		start := time.Now()
		var apps []App
		if err := decodeWhole(data, &apps, "apps", "app"); err != nil {
			b.Fatal(err)
		}
		between := time.Now()
		take := func(App) error { return nil }
		if err := decodeList(bytes.NewReader(data), maxElement, 1<<30, []string{"apps", "app"}, take, func(Cut) {}); err != nil {
			b.Fatal(err)
		}
		whole, listed = whole+between.Sub(start), listed+time.Since(between)
	}
	b.ReportMetric(listed.Seconds()/whole.Seconds(), "list/whole")
}
