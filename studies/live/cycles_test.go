package live

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/studies/harness"
)

// The page is what the records give.
func TestCyclesPageIsFresh(t *testing.T) {
	kept := filepath.Join("..", "..", "docs", "studies")
	h := new(Cycles).Study()
	h.Options = harness.Options{Dir: filepath.Join(kept, "cycles"), Page: filepath.Join(t.TempDir(), "cycles.md")}
	text, _, err := h.Report(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(kept, "cycles.md"))
	if err != nil || string(page) != text {
		t.Errorf("docs/studies/cycles.md is not what its records give (%v): go run ./studies cycles --offline", err)
	}
}

// A history whose tasks cost 2 s for a process and 50 cycles for a byte of a map, 3 s and 10 cycles of a reduce.
func TestCyclesOfAHistory(t *testing.T) {
	const mhz = 1000
	jobs := map[string]string{"job_1_0001": "TeraSort", "job_1_0002": "TeraSort", "job_1_0003": "word count", "job_1_0004": "word count", "job_1_0005": "sorter", "job_1_0006": "sorter", "job_1_0007": "sleep"}
	size := func(id string) int { return 20e6 + 40e6*(int(id[len(id)-1]-'0')%2) }
	counters := func(id string, reduce bool) string {
		names := [3]string{"BYTES_READ", "MAP_OUTPUT_MATERIALIZED_BYTES", "MAP_OUTPUT_RECORDS"}
		start, each := 2000, 50
		if reduce {
			names, start, each = [3]string{"REDUCE_SHUFFLE_BYTES", "BYTES_WRITTEN", "REDUCE_INPUT_RECORDS"}, 3000, 10
		}
		return fmt.Sprintf(`{"jobTaskCounters":{"taskCounterGroup":[{"counterGroupName":"g","counter":[{"name":%q,"value":%d},{"name":%q,"value":%d},{"name":%q,"value":7},`+
			`{"name":"CPU_MILLISECONDS","value":%d}]}]}}`, names[0], size(id), names[1], 2*size(id), names[2], start+each*size(id)/(mhz*1e3))
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		part := strings.Split(strings.TrimPrefix(r.URL.Path, "/ws/v1/history/mapreduce/jobs"), "/")
		switch {
		case strings.HasSuffix(r.URL.Path, "/history/info"):
			fmt.Fprint(w, `{"historyInfo":{"hadoopVersion":"3.4.2"}}`)
		case len(part) == 1:
			var list []string
			for id, name := range jobs {
				list = append(list, fmt.Sprintf(`{"id":%q,"name":%q,"state":"SUCCEEDED","finishTime":1000}`, id, name))
			}
			fmt.Fprintf(w, `{"jobs":{"job":[%s]}}`, strings.Join(list, ","))
		case part[2] == "conf":
			fmt.Fprint(w, `{"conf":{"property":[{"name":"mapreduce.map.java.opts","value":"-Xmx200m"}]}}`)
		case len(part) == 3:
			fmt.Fprint(w, `{"tasks":{"task":[{"id":"r","type":"REDUCE"},{"id":"m","type":"MAP"}]}}`)
		default:
			fmt.Fprint(w, counters(part[1], part[3] == "r"))
		}
	}))
	defer server.Close()
	dir := t.TempDir()
	h := (&Cycles{History: server.URL}).Study()
	h.Options = harness.Options{Repetitions: 1, Dir: dir, Log: io.Discard}
	if err := h.Record(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, all, err := ReadCycles(dir)
	if err != nil || len(all) != 1 {
		t.Fatalf("%d records, %v", len(all), err)
	}
	rec := all[0]
	rec.MHz = mhz
	costs, err := CyclesRecords{rec, rec}.Costs()
	if err != nil || len(rec.Jobs) != 6 || rec.Hadoop != "3.4.2" || rec.Jobs[0].Options != "-Xmx200m" {
		t.Fatalf("%v, %+v", err, rec)
	}
	for name, c := range costs {
		for _, v := range [][2]float64{{c.MapStart, 2e9}, {c.Map, 50}, {c.ReduceStart, 3e9}, {c.Reduce, 10}, {c.Passed, 2}, {c.Written, 2}} {
			if math.Abs(v[0]/v[1]-1) > 1e-9 {
				t.Errorf("%s: %v, not %v: %+v", name, v[0], v[1], c)
			}
		}
	}
	rec.Jobs = rec.Jobs[:5]
	if _, err := all.Costs(); err == nil {
		t.Error("a line was drawn through one point")
	}
}
