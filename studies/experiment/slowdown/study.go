package slowdown

import (
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/template"

	"github.com/yardmaster/yardmaster/internal/yamlfile"
	x "github.com/yardmaster/yardmaster/studies/experiment"
)

//go:embed study.yaml
var studyFile []byte

//go:embed sections.tmpl
var story string

// texts are the texts of the study.
var texts = sync.OnceValue(func() *x.Texts { return yamlfile.Decode[x.Texts](studyFile) })

// Study is the study as data. FIFO's V(95) varies much from seed to seed: judge it with ten seeds or more.
func Study() *x.Study {
	s := texts().With(runners(), ownJudges, sections)
	for i := range s.Experiments {
		e := &s.Experiments[i]
		if limits := sweptLimits[e.ID]; limits != nil {
			e.Setup = append(slices.Clone(e.Setup), x.Pair{Name: "limits", Value: fmt.Sprint(limits)})
		}
	}
	s.Probes = probes
	return s
}

// probes are all experiments except the long sweeps, whose settings the others have too.
var probes = []string{"SV-0a", "SV-0c", "SV-W", "SV-1", "SV-2e", "SV-4", "SV-6", "SV-X1", "SV-X2", "SV-X3", "SV-X4"}

// sweptLimits are the limits of the sweeps; a fingerprint covers them as data.
var sweptLimits = map[string][]int{"SV-2a": gridLimits, "SV-2b": gridLimits, "SV-2c": partLimits, "SV-2d": fbqLimits}

// independent are median, 95th percentile and V(95) of another simulator on W-1121, by definition and load, then policy; means of five seeds.
var independent = map[string]map[string]string{
	"bottleneck/0.7": {"fifo": "2.36, 18.1, 7.5", "fbq": "1.32, 6.5, 4.9", "tags": "7.8, 48.9, 6.3", "sita": "1.59, 5.2, 3.2", "comp": "1.22, 11.0, 8.9"},
	"total/0.7":      {"fifo": "4.07, 24.8, 6.0", "fbq": "1.58, 8.0, 5.1", "tags": "19.8, 103, 5.3", "sita": "1.72, 9.0, 5.3", "comp": "1.45, 16.2, 11.2"},
	"bottleneck/0.9": {"fifo": "6.8, 34.9, 5.2", "fbq": "1.80, 11.0, 6.1", "tags": "28, 153, 5.5", "sita": "1.83, 19, 10.5", "comp": "1.86, 26, 14", "fbq4": "1.77, 14.3, 8.0", "comp4": "1.42, 12.5, 8.8"},
	"total/0.9":      {"fifo": "21.0, 71, 3.7", "fbq": "2.12, 40, 19", "tags": "39.9, 199, 5.1", "sita": "1.98, 36, 18", "comp": "3.15, 57, 18", "fbq4": "2.63, 45, 17", "comp4": "1.70, 43, 25"},
}

// classNames are the size classes of W-1121, in seconds.
var classNames = []string{"100 to 316", "316 to 1,000", "1,000 to 3,160", "3,160 to 10,000", "10,000 to 31,600", "31,600 to 100,000", "100,000 to 316,000"}

// sections are the study's own tables and charts.
func sections(r *x.Runs) []x.Section {
	return x.Story(story, r, template.FuncMap{
		"title": func(name string) string {
			name, rest, _ := strings.Cut(name, "/")
			return strings.TrimSpace(strings.Replace(strings.ToUpper(name), "4", ", 4 queues", 1) + " " + rest)
		},
		"policies": func() []string { return []string{"fifo", "fbq", "tags", "sita", "comp"} }, "definitions": func() []string { return definitions },
		"independent": func(at, name string) string { return independent[at][name] },
		"shares":      func() []float64 { return shares }, "limits": func() []int { return gridLimits }, "partLimits": func() []int { return partLimits }, "fbqLimits": func() []int { return fbqLimits },
		"classes": func() []string { return classNames }, "class": func(i int) string { return fmt.Sprint("class/", firstClass+i) },
		"three": func(e, at string) string {
			return fmt.Sprintf("%s, %s, %s", x.Number(r.Point(e, at+"/median").Mean), x.Number(r.Point(e, at+"/p95").Mean), x.Number(r.Point(e, at+"/v").Mean))
		},
		"best": func(policy string, share float64) string {
			return limitText(optimum(r, "SV-2a", policy, share))
		},
		"thousand": func(limit int) string { return fmt.Sprintf("%d,000 s", limit/1000) }, "percent": func(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) },
	})
}

// optimum is the limit of a sweep with the smallest V(95), in the mean over seeds, among those whose median is not above FIFO's.
func optimum(r *x.Runs, experiment, policy string, share float64) (limit int, ok bool) {
	fifo := r.Estimate(experiment, "bottleneck/0.7/fifo/median").Mean
	least := math.Inf(1)
	for _, l := range gridLimits {
		at := fmt.Sprintf("bottleneck/0.7/%s/%g/%d/", policy, share, l)
		median, v := r.Estimate(experiment, at+"median").Mean, r.Estimate(experiment, at+"v").Mean
		if median <= fifo && v < least {
			limit, least, ok = l, v, true
		}
	}
	return limit, ok
}

// ownJudges are the judges that the study adds to those of package experiment.
var ownJudges = map[string]func(words []string, q []x.Quantity) x.Judge{
	// below holds when the mean of the first is smaller than that of the second, significantly or not.
	"below": func(_ []string, q []x.Quantity) x.Judge {
		less := x.Less(q[0], q[1])
		return x.Judge{Rule: "mean of " + q[0].Name + " < mean of " + q[1].Name, Of: func(r *x.Runs) x.Judgement {
			j := less.Of(r)
			j.Holds = j.Value < 0
			return j
		}}
	},
	// best-balance holds when at every size of partition 1 the policy's best limit exists and leaves partition 1 less utilised than the other.
	"best-balance": func(words []string, _ []x.Quantity) x.Judge {
		e, policy, _ := strings.Cut(words[0], " ")
		return atShares(fmt.Sprintf("%s utilisation of partition 1 < of partition 2 at the best limit of %s", e, policy), func(r *x.Runs, share float64) (string, bool) {
			limit, known := optimum(r, e, policy, share)
			at := fmt.Sprintf("bottleneck/0.7/%s/%g/%d/", policy, share, limit)
			if !known {
				return "none", false
			}
			first, second := r.Estimate(e, at+"u1").Mean, r.Estimate(e, at+"u2").Mean
			return x.Number(first) + " and " + x.Number(second), first < second
		})
	},
	// best-limits holds when at every size of partition 1 the second policy's best limit is above the first one's.
	"best-limits": func(words []string, _ []x.Quantity) x.Judge {
		e, first, _ := strings.Cut(words[0], " ")
		_, second, _ := strings.Cut(words[1], " ")
		return atShares(fmt.Sprintf("%s best limit of %s > of %s", e, second, first), func(r *x.Runs, share float64) (string, bool) {
			a, known := optimum(r, e, first, share)
			b, too := optimum(r, e, second, share)
			return limitText(a, known) + " and " + limitText(b, too), known && too && b > a
		})
	},
}

// atShares holds when a statement about best limits does at every size of partition 1.
func atShares(rule string, of func(r *x.Runs, share float64) (ours string, holds bool)) x.Judge {
	return x.Judge{
		Rule: fmt.Sprintf("%s, for a partition 1 of 10 to 50 %%; best: smallest mean V(95) with a mean median not above FIFO's, of %v", rule, gridLimits),
		Of: func(r *x.Runs) x.Judgement {
			j := x.Judgement{Holds: true, Value: math.NaN(), Lo: math.NaN(), Hi: math.NaN()}
			var texts []string
			for _, share := range shares {
				ours, holds := of(r, share)
				j.Holds = j.Holds && holds
				texts = append(texts, fmt.Sprintf("%.0f %%: %s", 100*share, ours))
			}
			j.Ours = strings.Join(texts, "; ")
			return j
		},
	}
}

func limitText(limit int, known bool) string {
	if !known {
		return "none"
	}
	return strconv.Itoa(limit)
}
