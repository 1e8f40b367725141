package capacity

import (
	_ "embed"
	"fmt"
	"sync"

	"github.com/yardmaster/yardmaster/experiment"
	"github.com/yardmaster/yardmaster/internal/yamlfile"
)

//go:embed study.yaml
var studyFile []byte

// texts are the words of the study.
var texts = sync.OnceValue(func() *experiment.Texts {
	t := yamlfile.Decode[experiment.Texts](studyFile)
	for i, m := range []machines{studyCluster, sensitivityCluster} {
		t.Calibrated[i] = fmt.Sprintf(t.Calibrated[i], m.slowDisk)
	}
	return t
})

// Study is the study as data.
func Study() *experiment.Study {
	s := texts().Study
	s.Experiments, s.Probes, s.Checks, s.Sections = experiments(), probes, texts().Judged(ownJudges()), sections
	return &s
}

// probes have every cluster, every way of submitting, every setting where it has an effect, and every order of queues.
var probes = []string{
	"S02", "S05", "S08", "S11", "S12", "S13", "S15", "V1-MULP", "V1-MSJ", "E01", "E12", "E14", "E22", "E30", "V2-Q2a", "E09e", "E25m", "V1-Q2s",
}
