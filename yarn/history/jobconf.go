package history

import (
	"slices"
	"strconv"
	"strings"

	"github.com/yardmaster/yardmaster/unit"
)

// jobConf is what is taken from a job's own configuration; nil if it was not read.
type jobConf map[string]string

func wantedConf(name string) bool {
	switch name {
	case "yarn.app.mapreduce.am.resource.mb", "yarn.app.mapreduce.am.resource.memory-mb", "yarn.app.mapreduce.am.resource.memory",
		"yarn.app.mapreduce.am.resource.cpu-vcores", "yarn.app.mapreduce.am.resource.vcores",
		"mapreduce.map.memory.mb", "mapreduce.map.resource.memory-mb", "mapreduce.map.resource.memory", "mapreduce.map.cpu.vcores", "mapreduce.map.resource.vcores",
		"mapreduce.reduce.memory.mb", "mapreduce.reduce.resource.memory-mb", "mapreduce.reduce.resource.memory", "mapreduce.reduce.cpu.vcores",
		"mapreduce.reduce.resource.vcores",
		"mapreduce.job.reduce.slowstart.completedmaps", "mapreduce.job.priority":
		return true
	}
	return false
}

// amount is the first of some settings that is a positive number; memory may have a unit.
func (c jobConf) amount(names ...string) int64 {
	for _, n := range names {
		text := strings.TrimSpace(c[n])
		scale := int64(1)
		for suffix, s := range map[string]int64{"Mi": 1, "Gi": 1024, "M": 1, "G": 1024} {
			if t, ok := strings.CutSuffix(text, suffix); ok && t != "" {
				text, scale = strings.TrimSpace(t), s
				break
			}
		}
		if v, err := strconv.ParseInt(text, 10, 64); err == nil && v > 0 && v < 1<<40 {
			return v * scale
		}
	}
	return 0
}

func (c jobConf) am() unit.Resources {
	return unit.Resources{
		Mem:   c.amount("yarn.app.mapreduce.am.resource.memory-mb", "yarn.app.mapreduce.am.resource.memory", "yarn.app.mapreduce.am.resource.mb"),
		Cores: c.amount("yarn.app.mapreduce.am.resource.vcores", "yarn.app.mapreduce.am.resource.cpu-vcores"),
	}
}

func (c jobConf) task(kind string) unit.Resources {
	p := "mapreduce." + kind + "."
	return unit.Resources{
		Mem:   c.amount(p+"resource.memory-mb", p+"resource.memory", p+"memory.mb"),
		Cores: c.amount(p+"resource.vcores", p+"cpu.vcores"),
	}
}

func (c jobConf) slowStart() float64 {
	v, err := strconv.ParseFloat(strings.TrimSpace(c["mapreduce.job.reduce.slowstart.completedmaps"]), 64)
	if err != nil || !(v >= 0 && v <= 1) {
		return defaultSlowStart
	}
	return v
}

// priority maps a MapReduce priority to YARN's: see TypeConverter.toYarnApplicationPriority.
func priority(text string) int {
	text = strings.ToUpper(strings.TrimSpace(text))
	if i := slices.Index([]string{"VERY_LOW", "LOW", "NORMAL", "HIGH", "VERY_HIGH"}, text); i >= 0 {
		return i + 1
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return n
}
