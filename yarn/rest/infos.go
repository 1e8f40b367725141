package rest

import (
	"context"
	"time"
)

// Whereabouts is the self-description of one ResourceManager, or its error.
type Whereabouts struct {
	Address string
	Info    Info
	Err     error
}

// Infos queries every named ResourceManager once; a standby does not redirect this.
func (c *Client) Infos(ctx context.Context) []Whereabouts {
	var all []Whereabouts
	for _, b := range c.named {
		info, err := c.infoOf(ctx, &call{server: c.alone(b), single: true})
		all = append(all, Whereabouts{plain(b), info, err})
	}
	return all
}

// Ready waits until there is an active ResourceManager and its nodes have registered: at least one, and as many as this client has seen before
// or no further ones for a while (settle). Just after a failover the new one shows an empty cluster, on which nobody should act.
func (c *Client) Ready(ctx context.Context, settle time.Duration) (Metrics, error) {
	c.mu.Lock()
	want := c.nodes
	c.mu.Unlock()
	var since time.Time
	last := int64(-1)
	for {
		m, err := c.metrics(ctx)
		switch {
		case err != nil && !again(err):
			return m, err
		case err == nil && m.ActiveNodes != last:
			last, since = m.ActiveNodes, time.Now()
		}
		if err == nil && m.ActiveNodes > 0 && (want > 0 && m.ActiveNodes >= want || time.Since(since) >= settle) {
			c.mu.Lock()
			c.nodes = m.ActiveNodes // nodes that do not come back are gone
			c.mu.Unlock()
			return m, nil
		}
		if sleep(ctx, 500*time.Millisecond) != nil {
			if err == nil {
				err = errNodesAway
			}
			return m, &CallError{"wait for the cluster", "", err}
		}
	}
}
