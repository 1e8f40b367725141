package main

import (
	"testing"

	"github.com/yardmaster/yardmaster/kube/lab"
)

// Each of the other systems runs a few jobs of every team, one of them larger than the cluster.
func TestPeers(t *testing.T) {
	if len(peers()) == 0 {
		t.Skip("needs other systems: kube/studies/peers.sh FOLDER, then YARDMASTER_PEERS=FOLDER")
	}
	lab.Programs(t)
	jobs := []job{
		{Name: "large", Team: "etl", Lengths: []millis{500, 500, 500, 500, 500, 500, 500, 500}}, {Name: "small", Team: "etl", Submit: 100, Lengths: []millis{200}},
		{Name: "a", Team: "adhoc", Submit: 200, Lengths: []millis{300, 300}}, {Name: "a", Team: "ml", Submit: 200, Lengths: []millis{300, 300, 300, 300}},
	}
	for _, s := range peers() {
		t.Run(s.name, func(t *testing.T) {
			var runs []jobRun
			if err := within(t.Context(), t.Output(), func(t testing.TB) { runs = s.play(t, site{Nodes: 2, CPU: 3}, jobs, nil) }); err != nil {
				t.Error(err)
			}
			for i, r := range runs {
				t.Log(jobs[i].Team, jobs[i].Name, r)
			}
		})
	}
}
