package live

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strings"

	"github.com/yardmaster/yardmaster/studies/evidence"
	"github.com/yardmaster/yardmaster/studies/harness"
	"github.com/yardmaster/yardmaster/studies/lab/steerer"
)

// The study of idle executors: notebooks hold executors while their users think, and jobs wait for the room. `spark queue` is asked what to set; its answer is
// stored, set, and measured.

const asAdvised = "as advised"

//go:embed sparkidle.md.tmpl
var idlePage string

var idleWays = []sparkWay{
	{asItIs, "each notebook and each job has 2 executors", []string{"idle"}, map[string]executors{"nat": static(2), "ben": static(2)}},
	{asAdvised, "notebooks have the settings that `spark queue` gave", []string{"idle"}, nil}, // see Advice
}

// Advice is the answer of `spark queue`.
type Advice struct {
	Answer string
	Name   string   // of the setting
	Keys   string   // as a scenario has it
	Conf   []string // lines of spark-defaults.conf
	Freed  float64  // share of the memory-time of executors
}

// advise asks what to set for the notebooks of a run.
func advise(ctx context.Context, now *harness.Run, rec *sparkRecord) (*Advice, error) {
	out, err := steerer.Run(ctx, now.Bin, "", "spark", "queue", rec.dir, "--queue", "root.adhoc", "--seeds", "5", "--json")
	if err != nil {
		return nil, err
	}
	var said struct {
		Answer   string `json:"answer"`
		Best     int    `json:"best"`
		Most     int    `json:"most"`
		Settings []struct {
			Name  string   `json:"name"`
			Keys  string   `json:"executors"`
			Conf  []string `json:"conf"`
			Freed float64  `json:"freed_memory"`
		} `json:"settings"`
	}
	if err := json.Unmarshal(out, &said); err != nil {
		return nil, err
	}
	k := said.Best
	if k < 0 {
		k = said.Most
	}
	if k < 0 {
		return nil, fmt.Errorf("there is no advice: %s", said.Answer)
	}
	b := said.Settings[k]
	return &Advice{said.Answer, b.Name, b.Keys, b.Conf, b.Freed}, nil
}

// way is the way that follows the advice.
func (a *Advice) way() sparkWay {
	w := idleWays[1]
	w.Users = maps.Clone(idleWays[0].Users)
	conf := maps.Clone(w.Users["nat"].Conf)
	for _, line := range a.Conf {
		key, value, _ := strings.Cut(line, " ")
		conf[strings.TrimPrefix(key, "spark.")] = value
	}
	w.Users["nat"] = executors{a.Keys, conf}
	return w
}

// advisedWay follows the advice of the stored run as it is of the same repetition.
func advisedWay(now *harness.Run) (*sparkWay, error) {
	runs, err := evidence.Series(now.Dir, sparkSeries, "")
	for _, r := range runs {
		var rec SparkRun
		err = errors.Join(err, evidence.Read(filepath.Join(now.Dir, r.File, measuredFile), &rec))
		if rec.Repetition == now.Repetition && rec.Advice != nil {
			w := rec.Advice.way()
			return &w, nil
		}
	}
	return nil, errors.Join(err, fmt.Errorf("repetition %d has no advice", now.Repetition))
}
