// Package steering shows what a live steerer does: metrics for Prometheus and a page for a person. It observes the driver's
// events and keeps a bounded history of them; it changes nothing.
//
//	/             the page
//	/metrics      yardmaster_steer_*, and those of the process
//	/status.json  what the page shows, for scripts
//	/healthz      200 while the steerer sees the scheduler, 503 while it does not
package steering
