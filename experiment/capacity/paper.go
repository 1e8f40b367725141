package capacity

import (
	"fmt"
	"math"
	"strconv"

	"github.com/yardmaster/yardmaster/experiment"
)

// none marks a cell that the source does not have.
var none = math.NaN()

// byType is one of the source's tables: for each type, the eight experiments of a block in order.
type byType map[int][8]float64

// published is what the source prints of a block. Where it prints one queue and says that the other is similar, queue names that one.
type published struct {
	rackLocal, ratio, variation map[string]byType // by queue
	makespan                    map[string][8]float64
}

// tables are the source's, by block in the order of blocks. The tables of response ratios at 50/50 and of separate queues do not name a
// queue: "" is all of them.
var tables = [4]published{
	{ // long-first, 50/50: E01 to E08
		rackLocal: map[string]byType{"q1": {
			1: {11.25, 11, 10.75, 11.92, 11.3, 13.6, 12.2, 13.1},
			2: {5.0, 5.0, 5.0, 6.1, 5.2, 6.7, 6.4, 6.2},
			3: {2.4, 2.63, 2.4, 2.8, 2.7, 3.6, 3.2, 3.0},
			4: {1.21, 1.0, 1.2, 1.5, 1.0, 1.9, 2.0, 2.4},
			5: {91, 80, 94, 88, 92, 88, 90, 88},
			6: {87, 75, 85, 83, 90, 82, 78, 82},
			7: {61, 53, 61, 56, 56, 58, 56, 59},
		}},
		ratio: map[string]byType{"": {
			1: {1.2, 1.21, 1.2, 1.01, 1.21, 1.01, 1.01, 1.01},
			2: {1.93, 1.96, 1.96, 1.53, 1.96, 1.53, 1.51, 1.52},
			3: {1.24, 1.51, 1.51, 1.14, 1.51, 1.15, 1.14, 1.14},
			4: {2.1, 6.70, 6.7, 1.54, 6.75, 1.54, 1.54, 1.54},
			5: {15, 15, 14, 3, 14, 3.6, 3.2, 3.5},
			6: {12.8, 12.9, 12.79, 3, 12.7, 3, 2.7, 3},
			7: {10.3, 10.4, 10.3, 1.8, 10.5, 1.83, 1.82, 1.93},
		}},
		variation: map[string]byType{"": {
			5: {0.18, 0.18, 0.18, 0.18, 0.19, 0.18, 0.49, 0.18},
			6: {0.14, 0.12, 0.14, 0.41, 0.12, 0.31, 0.31, 0.25},
			7: {0.14, 0.13, 0.12, 0.50, 0.15, 0.49, 0.46, 0.42},
		}},
		makespan: map[string][8]float64{
			"q1": {1232, 1197, 1230, 1229, 1229, 1229, 1227, 1230},
			"q2": {1234, 1200, 1231, 1228, 1233, 1229, 1229, 1228},
		},
	},
	{ // long-first, 70/30: E09 to E16
		rackLocal: map[string]byType{
			"q1": {
				1: {11.3, 13, 10.3, 11.6, 13.9, 12.9, 11.2, 14.2},
				2: {4.9, 5.4, 4.8, 5.8, 5.2, 7.1, 5.9, 6.5},
				3: {2.5, 2.6, 2.5, 2.3, 2.5, 2.7, 2.6, 2.6},
				4: {1.3, 1.2, 1.1, 1.7, 1.3, 1.5, 1.6, 1.7},
				5: {85, 89, 92, 92, 92, 90, 89, 89},
				6: {80, 84, 86, 80, 84, 88, 83, 84},
				7: {57, 62, 62, 59, 63, 59, 55, 57},
			},
			"q2": {
				1: {11.2, 11.2, 10.9, 11.5, 10.8, 13.6, 12.0, 12.5},
				2: {5.3, 6.7, 4.5, 6.0, 7.5, 7.7, 6.1, 7.7},
				3: {2.6, 3.6, 2.5, 2.6, 2.8, 3.2, 2.8, 3.0},
				4: {1.2, 1.9, 1.2, 1.6, 2.2, 2.4, 1.6, 2.3},
				5: {88, 90, 91, 88, 92, 88, 90, 92},
				6: {85, 88, 85, 83, 90, 81, 88, 86},
				7: {58, 66, 59, 56, 68, 60, 55, 61},
			},
		},
		ratio: map[string]byType{
			"q1": {
				1: {1.2, 1.15, 1.20, 1.06, 1.14, 1.02, 1.07, 1.01},
				2: {1.92, 1.6, 1.93, 1.57, 1.67, 1.39, 1.5, 1.38},
				3: {1.43, 1.42, 1.51, 1.16, 1.43, 1.12, 1.16, 1.12},
				4: {5.18, 5.38, 6.7, 1.5, 5.5, 1.45, 1.57, 1.45},
				5: {15, 12.5, 14.6, 3.6, 12.4, 1.9, 3.4, 1.8},
				6: {12.6, 10.28, 12.94, 1.75, 10.43, 1.9, 1.8, 1.9},
				7: {9.1, 5.2, 10.2, 1.75, 5.2, 1.81, 1.86, 1.78},
			},
			"q2": {
				1: {1.14, 1.32, 1.20, 1.02, 1.32, 1.01, 1.01, 1.01},
				2: {1.78, 2.3, 1.95, 1.5, 2.28, 1.71, 1.5, 1.69},
				3: {1.2, 1.87, 1.51, 1.16, 1.86, 1.22, 1.16, 1.22},
				4: {3.74, 10.78, 6.7, 1.5, 10.8, 1.64, 1.55, 1.64},
				5: {14, 26, 14.6, 3.6, 26, 6, 3.4, 6.1},
				6: {13.5, 22.8, 13.0, 2.5, 22, 5.3, 2.6, 5.3},
				7: {10.1, 14.6, 10.3, 1.8, 14, 3.3, 1.84, 3.4},
			},
		},
		variation: map[string]byType{
			"q1": {
				5: {0.19, 0.18, 0.19, 0.76, 0.15, 0.23, 0.80, 0.20},
				6: {0.15, 0.15, 0.13, 0.23, 0.14, 0.1, 0.36, 0.11},
				7: {0.14, 0.25, 0.13, 0.06, 0.29, 0.11, 0.19, 0.09},
			},
			"q2": {
				5: {0.16, 0.20, 0.19, 0.24, 0.19, 0.14, 0.16, 0.14},
				6: {0.16, 0.16, 0.13, 0.31, 0.13, 0.11, 0.20, 0.11},
				7: {0.1, 0.13, 0.12, 0.3, 0.14, 0.14, 0.32, 0.13},
			},
		},
		makespan: map[string][8]float64{
			"q1": {1211, 1001, 1230, 1223, 997, 1029, 1233, 1021},
			"q2": {1244, 1399, 1227, 1226, 1397, 1479, 1226, 1489},
		},
	},
	{ // interleaved, 50/50: E17 to E24
		rackLocal: map[string]byType{"q1": {
			1: {11.5, 10.8, 10.8, 12.7, 11.1, 12.6, 12.3, 12.8},
			2: {5.2, 5.4, 5.1, 6.4, 5.2, 6.7, 6.4, 6.8},
			3: {2.4, 2.6, 2.9, 2.8, 2.4, 3.3, 2.9, 3.3},
			4: {1.0, 1.0, 1.2, 1.5, 1.0, 1.8, 1.8, 2.4},
			5: {88, 88, 90, 85, 92, 88, 90, 88},
			6: {83, 84, 83, 83, 85, 86, 86, 83},
			7: {52, 59, 57, 60, 60, 56, 60, 61},
		}},
		ratio: map[string]byType{"": {
			1: {1.18, 1.18, 1.18, 1.02, 1.18, 1.02, 1.01, 1.02},
			2: {1.90, 1.94, 1.93, 1.46, 1.91, 1.46, 1.47, 1.47},
			3: {1.35, 1.51, 1.51, 1.15, 1.50, 1.15, 1.15, 1.15},
			4: {8.46, 8.70, 8.91, 1.79, 8.48, 1.79, 1.77, 1.80},
			5: {2.03, 2.02, 2.03, 1.41, 2.02, 1.43, 1.43, 1.42},
			6: {3.19, 4.16, 4.24, 2.47, 4.10, 2.53, 2.53, 2.48},
			7: {4.20, 6.91, 6.85, 1.90, 6.70, 1.89, 1.90, 1.90},
		}},
		variation: map[string]byType{"q1": {
			5: {0.20, 0.20, 0.19, 0.36, 0.17, 0.32, 0.30, 0.34},
			6: {0.19, 0.15, 0.13, 0.13, 0.12, 0.12, 0.12, 0.12},
			7: {0.48, 0.11, 0.1, 0.08, 0.8, 0.08, 0.09, 0.10}, // 0.8 is probably 0.08
		}},
		makespan: map[string][8]float64{
			"q1": {1250, 1251, 1249, 1229, 1252, 1233, 1232, 1228},
			"q2": {1251, 1254, 1249, 1232, 1256, 1234, 1232, 1229},
		},
	},
	{ // separate queues: E25 to E32
		rackLocal: map[string]byType{
			"q3": {
				1: {10.7, 10.4, 11.3, 12.6, 10.6, 12.6, 11.4, 12.5},
				2: {4.8, 5.6, 5.2, 5.7, 5.0, 6.7, 6.9, 6.5},
				3: {2.6, 2.6, 2.7, 2.5, 2.7, 3.0, 3.0, 2.9},
				4: {1.4, 1.3, 1.0, 1.6, 1.5, 1.5, 1.6, 1.6},
			},
			"q1": {
				5: {88, 91, 88, 88, 89, 88, 95, 90},
				6: {85, 84, 88, 86, 86, 86, 80, 82},
				7: {60, 60, 57, 58, 55, 59, 63, 61},
			},
		},
		ratio: map[string]byType{"": {
			1: {1.14, 1.23, 1.25, 1.01, 1.25, 1.01, 1.02, 1.02},
			2: {1.76, 2.21, 1.94, 1.39, 2.18, 1.56, 1.38, 1.54},
			3: {1.19, 1.59, 1.51, 1.12, 1.58, 1.16, 1.12, 1.15},
			4: {2.46, 9.36, 6.51, 1.55, 9.06, 1.73, 1.56, 1.72},
			5: {13.05, 1.2, 5.85, 4.84, 1.18, 1.06, 5.0, 1.08},
			6: {14.11, 1.65, 7.03, 5.22, 1.48, 1.20, 5.18, 1.20},
			7: {9.04, 1.53, 4.18, 4.88, 1.45, 1.27, 4.87, 1.25},
		}},
		// The printed table of variation is number for number the interleaved one: most likely a slip of copying, so it counts as missing.
		makespan: map[string][8]float64{
			"q1": {1196, 407, 1200, 1242, 387, 432, 1235, 414},
			"q2": {1196, 409, 1201, 1232, 383, 418, 1238, 438},
			"q3": {1249, 1242, 1239, 1207, 1262, 1243, 1202, 1259},
			"q4": {1252, 1239, 1235, 1203, 1262, 1242, 1205, 1262},
		},
	},
}

// sensitivity is the makespans of S01 to S16, by queue.
var sensitivity = [16][3]float64{
	{1127, 1123, none}, {1131, 1921, none}, {1811, 1866, 1939}, {1149, 1161, none},
	{1292, 2195, none}, {1388, none, none}, {1671, none, none}, {691, none, none},
	{1234, 1165, none}, {1030, 1899, none}, {847, 1249, none}, {1454, 1436, none},
	{1774, 1851, none}, {1724, 1648, none}, {1852, 1730, none}, {1262, 1302, none},
}

// pairedRuns is in how many of ten runs a job's reduce shared its node, on the real cluster and in the source's simulator. Jobs are in
// the order of validationJobs.
var pairedRuns = map[string]struct{ real, simulated [8]int }{
	"V2-Q2":     {[8]int{0, 4, 5, 2, 3, 3, 3, 3}, [8]int{8, 6, 7, 3, 7, 5, 5, 6}},
	"V2-MAXCAP": {[8]int{1, 4, 3, 2, 2, 3, 5, 1}, [8]int{8, 7, 3, 6, 7, 4, 6, 6}},
	"V2-MULP":   {[8]int{4, 2, 3, 3, 4, 1, 3, 1}, [8]int{6, 7, 7, 5, 8, 6, 6, 4}},
	"V2-MSJ":    {[8]int{1, 0, 1, 1, 1, 0, 1, 1}, [8]int{5, 4, 5, 5, 5, 5, 4, 4}},
}

var validationJobs = [8]string{"TSort1", "Sort1", "TSort2", "Sort2", "TSort3", "Sort3", "TSort4", "Sort4"}

// realStragglers counts slow maps on the real cluster with one and with two reduce slots a node.
var realStragglers = map[string][2]float64{"Q1": {7, 4}, "Q2": {23, 27}, "MAXCAP": {23, 24}, "MULP": {29, 32}, "MSJ": {8, 10}}

// reported are the cells of the source's tables for one experiment of the factorial.
func (b block) reported(i int) []experiment.Reported {
	t := &tables[(b.first-1)/8]
	var cells []experiment.Reported
	for q := range b.capacity {
		name := "q" + strconv.Itoa(q+1)
		if row, ok := t.makespan[name]; ok {
			cells = append(cells, experiment.Reported{Metric: "makespan/" + name, What: "Makespan, queue " + name[1:], Unit: "s", Paper: row[i]})
		}
	}
	table := func(metric, what, unit string, by map[string]byType) {
		for _, n := range allTypes {
			for _, queue := range []string{"", "q1", "q2", "q3", "q4"} {
				row, ok := by[queue][n]
				if !ok {
					continue
				}
				c := experiment.Reported{Metric: fmt.Sprintf("%s/%d", metric, n), What: fmt.Sprintf("%s, type %d", what, n), Unit: unit, Paper: row[i]}
				if queue != "" {
					c.Metric += "/" + queue
					c.What += ", queue " + queue[1:]
				}
				cells = append(cells, c)
			}
		}
	}
	table("ratio", "Response ratio", "", t.ratio)
	table("rack-local", "Rack-local maps", "%", t.rackLocal)
	return cells
}
