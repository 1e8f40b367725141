package yard

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/yardmaster/yardmaster/policy/amlimit"
	"github.com/yardmaster/yardmaster/steer/drive"
	"github.com/yardmaster/yardmaster/yarn/conf"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

// Marks are those in a configuration.
func Marks(p *conf.Properties) (list []drive.Mark) {
	for _, x := range p.List {
		queue, property, ok := strings.Cut(strings.TrimPrefix(x.Name, conf.Prefix), "."+markName)
		if !ok || x.Value == "" {
			continue
		}
		m := drive.Mark{Queue: queue, Property: cmp.Or(strings.TrimPrefix(property, "."), amlimit.Capacity.Property), Journal: x.Value, Name: x.Name}
		m.Value = text(p, conf.Prefix+queue+"."+configured(m.Property), "")
		list = append(list, m)
	}
	return list
}

// ReadMarks reads the marks of a ResourceManager; none if it cannot keep any, because it has its settings from a file.
func ReadMarks(ctx context.Context, c *rest.Client) ([]drive.Mark, error) {
	p, err := c.SchedulerConf(ctx)
	if s, ok := errors.AsType[*rest.StatusError](err); ok && (s.Status == http.StatusBadRequest || s.Status == http.StatusNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return Marks(p), nil
}

// Marks are those of the ResourceManager; none if this account cannot set any.
func (y *Yard) Marks(ctx context.Context) ([]drive.Mark, error) {
	if y.Actuator() != REST {
		return nil, nil
	}
	list, err := ReadMarks(ctx, y.c)
	if errors.Is(err, rest.ErrForbidden) {
		return nil, nil
	}
	return list, err
}
