package steering

import (
	"maps"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/yardmaster/yardmaster/steer/drive"
)

const prefix = "yardmaster_steer_"

// Outcomes of writes, as the metrics name them.
const (
	taken         = "taken"
	refused       = "refused"
	unverified    = "unverified"
	restored      = "restored"
	restoreFailed = "restore_failed"
	foreign       = "foreign" // somebody else's value was found
)

var outcomes = map[drive.EventKind]string{
	drive.Taken: taken, drive.Refused: refused, drive.Unverified: unverified, drive.Restored: restored, drive.RestoreFailed: restoreFailed, drive.Foreign: foreign,
}

// metrics are the instruments of one steerer, in a registry of their own.
type metrics struct {
	registry *prometheus.Registry

	up, inForce, wanted, original, idle prometheus.Gauge
	pending, running, open, cycle       prometheus.Gauge
	mode                                *prometheus.GaugeVec
	decisions, writes                   *prometheus.CounterVec
	requests, blind, deadMan            prometheus.Counter
	actuation, snapshot                 prometheus.Histogram
}

func newMetrics(about *About, age func() float64) *metrics {
	m := &metrics{registry: prometheus.NewRegistry()}
	register := promauto.With(m.registry)
	gauge := func(name, help string) prometheus.Gauge {
		return register.NewGauge(prometheus.GaugeOpts{Name: prefix + name, Help: help})
	}
	counter := func(name, help string) prometheus.Counter {
		return register.NewCounter(prometheus.CounterOpts{Name: prefix + name, Help: help})
	}
	counters := func(name, help, label string, values ...string) *prometheus.CounterVec {
		c := register.NewCounterVec(prometheus.CounterOpts{Name: prefix + name, Help: help}, []string{label})
		for _, v := range values { // a rate needs a zero to start from
			c.WithLabelValues(v)
		}
		return c
	}
	histogram := func(name, help string, buckets ...float64) prometheus.Histogram {
		return register.NewHistogram(prometheus.HistogramOpts{Name: prefix + name, Help: help, Buckets: buckets})
	}
	register.NewGauge(prometheus.GaugeOpts{Name: prefix + "info", Help: "What this steerer is.", ConstLabels: prometheus.Labels{
		"version": about.Version, "scheduler": about.Scheduler, "queue": about.Queue, "policy": about.Policy, "actuator": about.Actuator, "cpu": about.CPU,
	}}).Set(1)
	m.up = gauge("up", "1 if the last sample of the scheduler was good, else 0.")
	m.mode = register.NewGaugeVec(prometheus.GaugeOpts{Name: prefix + "mode", Help: "1 for the current mode, 0 for former ones."}, []string{"mode"})
	m.inForce = gauge("share_in_force", "Share of the queue that AMs may take, as in force; -1: no limit.")
	m.wanted = gauge("share_wanted", "Share that the policy wants.")
	m.original = gauge("share_original", "Original share, restored when the steerer exits.")
	m.idle = gauge("cpu_idle_ratio", "Share of processor time that is idle, 0 to 1; -1: unknown.")
	m.pending = gauge("jobs_pending", "Jobs of the queue that wait for their AM.")
	m.running = gauge("jobs_running", "Jobs of the queue that run.")
	m.decisions = counters("decisions_total", "Samples, by decision.", "kind", "wait", "refuse", "raise", "lower", "set", "restore")
	m.writes = counters("writes_total", "Changes of the scheduler's configuration, by outcome.", "outcome", slices.Collect(maps.Values(outcomes))...)
	m.actuation = histogram("actuation_seconds", "Time from a write until it was in force.", .05, .1, .25, .5, 1, 2.5, 5, 7.5, 10, 12.5, 15, 20, 30, 60)
	m.snapshot = histogram("snapshot_seconds", "Duration of a sample.", .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30)
	m.requests = counter("requests_total", "Requests sent to the ResourceManagers.")
	m.cycle = gauge("requests_per_cycle", "Requests of the last sample.")
	m.blind = counter("blind_looks_total", "Samples that could not be acted on.")
	m.deadMan = counter("dead_man_total", "Times that everything was restored because there was no usable sample for too long.")
	m.open = gauge("open_knobs", "Settings that are changed now and will be restored on exit.")
	register.NewGaugeFunc(prometheus.GaugeOpts{Name: prefix + "snapshot_age_seconds", Help: "Time since the last good sample, or since the start."}, age)
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// take counts an event. The board has already updated its own state.
func (m *metrics) take(e *drive.Event, now *Now) {
	if outcome := outcomes[e.Kind]; outcome != "" {
		m.writes.WithLabelValues(outcome).Inc()
	}
	switch {
	case e.Kind == drive.Decided:
		m.decisions.WithLabelValues(now.Decision).Inc()
	case e.Kind == drive.Taken, e.Kind == drive.Restored && e.Latency > 0:
		m.actuation.Observe(e.Latency.Seconds())
	case e.Kind == drive.Blind:
		m.blind.Inc()
	case e.Kind == drive.DeadMan:
		m.deadMan.Inc()
	}
	m.up.Set(0)
	if now.Sees {
		m.up.Set(1)
	}
	m.mode.Reset()
	if now.Mode != "" {
		m.mode.WithLabelValues(now.Mode).Set(1)
	}
	m.inForce.Set(float64(now.InForce))
	m.wanted.Set(float64(now.Wanted))
	m.original.Set(float64(now.Original))
	m.idle.Set(float64(now.Idle))
	m.pending.Set(float64(now.Pending))
	m.running.Set(float64(now.Running))
	m.open.Set(float64(now.Open))
}
