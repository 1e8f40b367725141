package jhist

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// testdata/recorded holds files that a real cluster (Hadoop 3.4.2) wrote: a sleep in the JSON form, a word count, and one whose maps were given too
// little memory to start.
func TestRecorded(t *testing.T) {
	type seen struct {
		status               string
		maps, reduces, hosts int
	}
	want := map[string]seen{
		"0003": {status: "SUCCEEDED", maps: 2, reduces: 1},
		"0006": {status: "SUCCEEDED", maps: 6, reduces: 1, hosts: 6},
		"0007": {status: "FAILED", maps: 6, reduces: 1, hosts: 6},
	}
	paths, err := filepath.Glob("testdata/recorded/*.jhist")
	if err != nil || len(paths) != len(want) {
		t.Fatalf("%d files: %v", len(paths), err)
	}
	for _, path := range paths {
		name, err := ParseFileName(filepath.Base(path))
		if err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		j, err := new(Parser).Parse(f)
		if cerr := f.Close(); err != nil || cerr != nil {
			t.Fatal(path, err, cerr)
		}
		w := want[name.JobID[strings.LastIndexByte(name.JobID, '_')+1:]]
		if j.ID != name.JobID || j.User != name.User || j.Name != name.JobName || j.Queue != name.Queue || j.Submit != name.Submit || j.Finish != name.Finish || j.Launch != name.Start {
			t.Errorf("%s: the name and the file differ: %+v", path, j)
		}
		hosts, failed := 0, 0
		for i := range j.Maps {
			if len(j.Maps[i].Hosts) > 0 {
				hosts++
			}
			for _, a := range j.Maps[i].Attempts {
				if a.Outcome == Failed {
					failed++
				}
				if a.Outcome == Succeeded && (a.Finish <= a.Start || a.Locality == "") {
					t.Errorf("%s: %+v", path, a)
				}
			}
		}
		if j.Status != w.status || len(j.Maps) != w.maps || len(j.Reduces) != w.reduces || hosts != w.hosts || (failed > 0) != (w.status == "FAILED") {
			t.Errorf("%s: %s, %d maps (%d with hosts, %d attempts failed), %d reduces", path, j.Status, len(j.Maps), hosts, failed, len(j.Reduces))
		}
		c := j.Totals
		if j.Status == "SUCCEEDED" && (c.MemoryMillisMaps != 256*c.SlotMillisMaps || c.SlotMillisMaps == 0 || c.CoreMillisMaps != c.SlotMillisMaps) {
			t.Errorf("%s: %+v", path, c)
		}
		if len(j.AMs) != 1 || j.AMs[0].Start <= j.Submit || j.AMs[0].Start >= j.Launch {
			t.Errorf("%s: AMs %+v", path, j.AMs)
		}
	}
}
