package marp

import "fmt"

// assumptions are what the source leaves open, or what of it is read otherwise, and how it is settled here.
func assumptions() []string {
	return append(hostFacts(), []string{
		"The cycles were replaced after controllers had been played with others. Until then they were those of MRPERF, another simulator's of 2010: 4e9 for a process, 40 a byte read by a map (250 in WordCount), 44 a byte " +
			"sorted, 90 a byte reduced. With them CBT, CBTwS and CBTwAT gained 6.0, 0.0 and -7.1 % in E7, 12.2, -5.3 and -9.1 % in E8, 2.6, 0.8 and -1.0 % in E9 (E22 still plays them). The source saw that a reduce " +
			"leaves the processors nearly idle, which made borrowed numbers doubtful; so cycles were measured. It was decided before the measurement that whatever it gives is taken, once, whatever it does to the " +
			"controllers; the share that stays in memory was then set by PRJ again, and nothing else was changed.",
		"The knob is the Fair Scheduler's maxAMShare by the rule of Hadoop 2 (masters' memory, rounded down), read again from its file at a poll every 10 s once it is more than 5 s old; " +
			"the poll's phase is drawn for each seed. The Capacity Scheduler takes a change at once.",
		"\"16 CPUs of 4 cores\" are read as 16 hardware threads on 8 cores: the host has two sockets.",
		"All three nodes are on one host: they share its processors and its one disk. Time in which a processor has nothing to do while a task waits for the disk is not idle, as vmstat counts.",
		"What maps leave behind for reduces stays in memory while they run, and Linux writes it in the background after 30 s: that load of the disk is not played. Reduces read their part of it from the disk as they do their " +
			"own spills, by the share that was set by PRJ, although much of it would still be in memory. The two are of opposite sign; neither was measured.",
		"A controller is told what the processors did in the last second; it looks as often as the source's scripts do, with their waits.",
		"Where the source's text and scripts differ the scripts are followed; what would stop for ever, divide by zero or leave the bounds is mended. Steps are the source's: 0.050, +0.040, -0.030.",
		fmt.Sprintf("Clients need %.0f to %.0f s until their job is submitted, drawn for each; batch times count from the clients' start. A master makes its first request %v after it got its container.",
			clientStart, clientStart+1, masterStart),
		"Jobs that are alike start in order of submission.",
		"Sort runs 5 reduces, as its example program does on three nodes, although the source says one. TeraSort's output has one copy; those of Sort and WordCount have three, all on the one disk.",
		"WordCount reads TeraGen's rows: hardly a word comes twice, so that combining saves nothing.",
		"A share that masters do not use is not held back for them: jobs that run may use it (the source says otherwise).",
		"A change that is written over before the scheduler has read it never was.",
		"E0 to E3, E5, E6 and E10 to E20 use TeraSort of 3 GB: the source does not always say which. E4 plays 24 jobs of 1 GB, since 24 of 3 GB do not fit its disk.",
		"E5: the gap is from the controller's decision to the first map of the job that it lets in. E6: compared is what each method compares with nothing (how much the average rose; the last difference less the one before).",
		"E10: the mean, over samples of 10 s, of the progress that running jobs made, a job.",
		"E11 and E14 are questions to a real host; what the model says is recorded.",
		"Nothing fails for want of disk space: beyond 90 % nodes get no further containers.",
	}...)
}

// calibrated are the numbers of the source that the model was set by.
func calibrated() []string {
	var all []string
	for _, b := range benches() {
		all = append(all, fmt.Sprintf("%s: the share of what reduces read and write that stays in memory, %.3f, so that six at once take %.1f s in the mean (PRJ of %s). Controllers' times were not looked at.",
			b.name, b.cached, b.batch6, b.experiment))
	}
	all = append(all, fmt.Sprintf("The disk's spread from run to run (%.1f %%), by that of PRJ's batch times in E7.", 100*runNoise))
	for _, b := range benches() {
		all = append(all, fmt.Sprintf("E21, %s: reduces that compute %.1f times as long give the same batch time without a disk.", b.name, b.longer))
	}
	return all
}

// whys are the known reasons for misses and differences, by check.
var whys = func() map[string]string {
	const (
		pays = "it waits less for the disk than under CBT, but leaves processors idle for as much longer (wait and idle in the figures)"
		late = "it waits for the disk as little as under CBTwS, but its thresholds let jobs in later, so that processors idle for longer (wait and idle in the figures)"

		copies = "three copies of the output lie on the one disk, so that a reduce alone has several streams there, and holding other jobs back saves little; with one copy CBTwS and CBTwAT gain twice as much and more " +
			"(E22). Three is Hadoop's default; the source does not say how many it had"
		crowded = "five reduces a job and three copies of what they write keep the disk crowded whoever runs: one after another, at once and all between lie close together (E9's table); with one reduce and one copy " +
			"CBTwS and CBTwAT gain nearly as much as in the source, CBT does not (E22)"
		sooner = "a batch waits for the disk here, not for processors: jobs that are let in sooner meet sooner in their reduces, and the disk loses more; where the disk takes no time, CBT is faster without the delay (E13's table)"
		fixed  = "one job takes half of the memory, so that no room has to be gathered, and a master's start takes a fixed time in the model"
		ahead  = "ahead lets jobs in before processors idle, which takes the delay away; here the delay does no harm, since the disk is crowded sooner without it (E13), and holding jobs back for longer spares it"
		alike  = "whatever runs, this batch waits for the disk for nine tenths of its time: all numbers of jobs at once lie close together (E9's table)"
	)
	all := map[string]string{
		"E3-slower": "a job alone soon comes to the last third of its reduce's progress, which takes most of its time, while the six still map; as long as it maps itself it is ahead in every sample " +
			"(slower-map in the figures)",
		"E4-low":         "a reduce alone waits for the disk for nearly half of its time, and six lose as much to the crowd as they gain by sharing processors: two at once take about as long as six (E7's table)",
		"E5-busy":        "in the model a lone reduce and nothing else uses the processors; the source's host also ran daemons, clients and a desktop",
		"E7-cbtwat-band": late, "E7-cbtwat-cbt": pays,
		"E8-cbtws-cbt": pays, "E8-cbtwat-cbt": pays,
		"E9-cbtwat-cbt": pays,
		"E9-ahead":      alike, "E9-kalman": alike,
		"E15-prj":     "with what lies there before, eight jobs at once peak below 90 % of the disk",
		"E16-quicker": "under CBT the processors are busy with the job that was let in for longer than either wait; the other two are faster",
		"E18-cbtwat":  "the script of CBTwAT waits 5 s less at the start, and in some seeds takes the idle processors of the first job's own start for those of a reduce",
		"E19-busy":    fixed, "E19-busy-by": fixed,
		"E20-cbtws": "half of the increase is less than a master takes, so that only every second one lets a job in; a job that counts as almost done at 45 % gives its share back before it reduces, " +
			"and the next increase may then let nobody in",
		"E20-cbtwat": "half of the increase is less than a master takes, so that only every second one lets a job in",
	}
	for _, b := range benches() {
		all["E13-"+b.short], all[b.experiment+"-ahead-best"] = sooner, ahead
		for _, name := range steered {
			if why := map[string]string{"E8": copies, "E9": crowded}[b.experiment]; why != "" {
				all[b.experiment+"-"+name+"-band"] = why
			}
		}
	}
	return all
}()
