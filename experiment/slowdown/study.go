package slowdown

import (
	_ "embed"
	"slices"
	"sync"

	x "github.com/yardmaster/yardmaster/experiment"
	"github.com/yardmaster/yardmaster/internal/yamlfile"
)

//go:embed study.yaml
var studyFile []byte

// texts are the texts of the study.
var texts = sync.OnceValue(func() *x.Texts { return yamlfile.Decode[x.Texts](studyFile) })

// Study is the study as data. FIFO's V(95) varies much from seed to seed: judge it with ten seeds or more.
func Study() *x.Study {
	s := texts().Study
	s.Experiments, s.Checks, s.Sections = slices.Clone(s.Experiments), texts().Judged(ownJudges), sections
	run := runners()
	for i := range s.Experiments {
		s.Experiments[i].Run = run[s.Experiments[i].ID]
	}
	return &s
}
