package rest

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
)

// Whatever comes, every decoder ends with a value or an error, and what it took is well formed.
func FuzzAnswers(f *testing.F) {
	for _, s := range []string{
		`{"apps":{"app":[{"id":"application_1_0001","startedTime":"5","progress":"NaN"},null]}}`, `{"apps":null}`, `{"apps":{"app":{}}}`, `{"x":[[{}]],"apps":""}`,
		`{"nodes":{"node":[{"totalResource":{"memory":1,"resourceInformations":{"resourceInformation":[{"name":"gpu","value":"2"}]}}}]}}`,
		`{"jobCounters":{"counterGroup":[{"counter":[{"totalCounterValue":9223372036854775807}]}]}}`, `[`, `{"apps":{"app":[1e400]}}`, "\x00", `{"apps":{"app":[{"id":"`,
		`{"scheduler":{"schedulerInfo":{"type":"capacityScheduler","queueName":"root","queues":{"queue":{"queueName":"a"}}}}}`,
		`{"property":[{"name":"a","value":"${a}"}]}`, `<configuration><property><name>a</name><value>b</value></property></configuration>`,
		`{"RemoteException":{"exception":"E","message":"m","javaClassName":"c"}}`, `<html><title>x`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		n := 0
		err := decodeList(bytes.NewReader(data), 1<<16, 1<<20, []string{"apps", "app"}, func(App) error { n++; return nil }, func(Cut) {})
		if err == nil && !json.Valid(data) {
			t.Errorf("took %q, which is not JSON", data)
		}
		if err == nil && n > 0 && !bytes.Contains(data, []byte("app")) { // \u escapes aside
			if !bytes.Contains(data, []byte(`\`)) {
				t.Errorf("%d applications in %q", n, data)
			}
		}
		_ = decodeList(bytes.NewReader(data), 1<<16, 1<<20, []string{"FileStatuses", "FileStatus"}, func(FileStatus) error { return nil }, func(Cut) {})
		for _, v := range []any{&Info{}, &Metrics{}, &Node{}, &App{}, &Job{}, &Task{}, &CounterGroup{}, &Queue{}} {
			if err := decodeWhole(data, v); err == nil && !json.Valid(data) {
				t.Errorf("%s took %q, which is not JSON", reflect.TypeOf(v), data)
			}
		}
		if s, err := readScheduler(data); err == nil && s == nil {
			t.Error("neither scheduler nor error")
		}
		if p, err := readProperties(data, "test"); err == nil && p == nil {
			t.Error("neither properties nor error")
		}
		var e StatusError
		if e.read(data, "text/html"); len(e.Message) > 4*300 {
			t.Errorf("a message of %d bytes", len(e.Message))
		}
	})
}
