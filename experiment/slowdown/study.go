package slowdown

import (
	_ "embed"
	"fmt"
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
		e := &s.Experiments[i]
		e.Run = run[e.ID]
		if limits := sweptLimits[e.ID]; limits != nil {
			e.Setup = append(slices.Clone(e.Setup), x.Pair{Name: "limits", Value: fmt.Sprint(limits)})
		}
	}
	s.Probes = probes
	return &s
}

// probes are all experiments except the long sweeps, whose settings the others have too.
var probes = []string{"SV-0a", "SV-0c", "SV-W", "SV-1", "SV-2e", "SV-4", "SV-6", "SV-X1", "SV-X2", "SV-X3", "SV-X4"}

// sweptLimits are the limits of the sweeps; a fingerprint covers them as data.
var sweptLimits = map[string][]int{"SV-2a": gridLimits, "SV-2b": gridLimits, "SV-2c": partLimits, "SV-2d": fbqLimits}
