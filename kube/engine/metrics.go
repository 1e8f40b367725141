package engine

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/yardmaster/yardmaster/policy/live"
)

// metrics are those of an engine. No label has a value that comes from the cluster.
type metrics struct {
	engine                                    *Engine
	registry                                  *prometheus.Registry
	release                                   prometheus.Histogram
	stateErrors, eventsDropped                prometheus.Counter
	stateBytes, stateDropped                  prometheus.Gauge
	pods, jobs, refusedJobs, parked, settings *prometheus.Desc
	releases, takenBack, strandings, asked    *prometheus.Desc
}

func newMetrics(e *Engine) *metrics {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("yardmaster_"+name, help, labels, nil)
	}
	m := &metrics{
		engine: e, registry: prometheus.NewRegistry(),
		release: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "yardmaster_release_duration_seconds", Help: "How long the core took to decide which pods to let go.", Buckets: prometheus.ExponentialBuckets(1e-5, 4, 10),
		}),
		stateErrors:   prometheus.NewCounter(prometheus.CounterOpts{Name: "yardmaster_state_errors_total", Help: "Failed attempts to save the state."}),
		eventsDropped: prometheus.NewCounter(prometheus.CounterOpts{Name: "yardmaster_events_dropped_total", Help: "Events about held jobs that were not written, to bound their number."}),
		stateBytes:    prometheus.NewGauge(prometheus.GaugeOpts{Name: "yardmaster_state_bytes", Help: "Size of the saved state."}),
		stateDropped:  prometheus.NewGauge(prometheus.GaugeOpts{Name: "yardmaster_state_dropped_jobs", Help: "Jobs that the saved state has no room for."}),
		pods:          desc("pods", "Managed pods by state: held, released (without a node), bound, stranded (released, and no node suits).", "state"),
		jobs:          desc("jobs", "Jobs that are present."),
		refusedJobs:   desc("refused_jobs", "Present jobs that the policy refuses."),
		parked:        desc("parked_shapes", "Kinds of pods that found no node when last tried."),
		settings:      desc("settings_refused", "1 while the ConfigMap has settings that are not in effect."),
		releases:      desc("releases_total", "Pods that were let go."),
		takenBack:     desc("taken_back_total", "Pods that were let go and are held again."),
		strandings:    desc("strandings_total", "Pods that were let go and found no node."),
		asked:         desc("asked_total", "How often the policy was asked for the next job."),
	}
	m.registry.MustRegister(m, m.release, m.stateErrors, m.eventsDropped, m.stateBytes, m.stateDropped, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Describe implements prometheus.Collector.
func (m *metrics) Describe(to chan<- *prometheus.Desc) { prometheus.DescribeByCollect(m, to) }

// Collect implements prometheus.Collector.
func (m *metrics) Collect(to chan<- prometheus.Metric) {
	var s live.Stats
	if m.engine.Core != nil {
		s = m.engine.Core.Stats()
	}
	m.engine.mu.RLock()
	refused := 0
	if m.engine.refused != nil {
		refused = 1
	}
	m.engine.mu.RUnlock()
	gauge := func(d *prometheus.Desc, n int, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(n), labels...)
	}
	gauge(m.pods, s.Held, "held")
	gauge(m.pods, s.Released, "released")
	gauge(m.pods, s.Bound, "bound")
	gauge(m.pods, s.Stranded, "stranded")
	gauge(m.jobs, s.Jobs)
	gauge(m.refusedJobs, s.Refused)
	gauge(m.parked, s.Parked)
	gauge(m.settings, refused)
	for d, n := range map[*prometheus.Desc]int64{m.releases: s.Releases, m.takenBack: s.TakenBack, m.strandings: s.Strandings, m.asked: s.Asked} {
		to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n))
	}
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// Registry is where a driver adds metrics of its own.
func (e *Engine) Registry() *prometheus.Registry { return e.metrics.registry }
