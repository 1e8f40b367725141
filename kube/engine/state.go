package engine

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/yardmaster/yardmaster/policy/live"
	"github.com/yardmaster/yardmaster/unit"
)

const (
	stateKey = "state.json.gz"
	// writerKey annotates the state with the replica that may write it.
	writerKey = Domain + "writer"
	maxState  = 900 << 10 // bytes, compressed
	maxPlain  = 32 << 20
	// A new epoch begins lookBack before the first start, and when the old one is maxAge old: container-time adds up from it.
	lookBack = 30 * 24 * time.Hour
	maxAge   = 365 * 24 * time.Hour
)

// ErrReplaced says that another replica writes the state.
var ErrReplaced = errors.New("another replica has taken over")

// state is what survives a restart.
type state struct {
	Epoch    time.Time         `json:"epoch"`
	Now      unit.Time         `json:"now"`
	Policy   string            `json:"policy"`   // whose state is in Core.Policy
	Settings map[string]string `json:"settings"` // the last good ones
	Core     *live.Saved       `json:"core"`
}

// load takes over the state of a former run: from now on, what that run writes is refused.
func (e *Engine) load(ctx context.Context) error {
	maps := e.client.CoreV1().ConfigMaps(e.cfg.Namespace)
	for {
		m, err := maps.Get(ctx, StateName, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			m = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: StateName, Namespace: e.cfg.Namespace, Annotations: map[string]string{writerKey: e.cfg.Identity}}}
			m, err = maps.Create(ctx, m, metav1.CreateOptions{})
		} else if err == nil {
			metav1.SetMetaDataAnnotation(&m.ObjectMeta, writerKey, e.cfg.Identity)
			m, err = maps.Update(ctx, m, metav1.UpdateOptions{})
		}
		if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("state of the former run: %w", err)
		}
		e.stored = m
		break
	}
	if text := e.stored.BinaryData[stateKey]; len(text) > 0 {
		if err := e.state.unpack(text); err != nil {
			e.Warn(ctx, "StateRefused", fmt.Sprintf("ConfigMap %s cannot be read, so the service that jobs received before is forgotten: %v", StateName, err))
			e.state = state{}
		}
	}
	now := time.Now()
	if age := now.Sub(e.state.Epoch); age < 0 || age > maxAge {
		e.state.Epoch, e.state.Now, e.state.Policy = now.Add(-lookBack).Truncate(time.Second), 0, ""
	}
	e.clock = clock{epoch: e.state.Epoch, began: now, offset: max(e.state.Now, unit.Time(now.Sub(e.state.Epoch).Microseconds()))}
	return nil
}

func (s *state) unpack(text []byte) error {
	z, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		return err
	}
	plain, err := io.ReadAll(io.LimitReader(z, maxPlain+1))
	if err != nil {
		return err
	}
	if len(plain) > maxPlain {
		return errors.New("it is too large")
	}
	return json.Unmarshal(plain, s)
}

// pack compresses the state, without some jobs if it is too large: those that have received least first.
func (s state) pack() (text []byte, dropped int, err error) {
	var keys []string
	for {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		if err := errors.Join(json.NewEncoder(z).Encode(s), z.Close()); err != nil {
			return nil, 0, err
		}
		if b.Len() <= maxState {
			return b.Bytes(), dropped, nil
		}
		if len(s.Core.Jobs) == 0 {
			if s.Core.Policy == nil {
				return nil, dropped, fmt.Errorf("the settings alone have %d bytes", b.Len())
			}
			s.Core.Policy = nil
			continue
		}
		if keys == nil {
			for key := range s.Core.Jobs {
				keys = append(keys, key)
			}
			slices.SortFunc(keys, func(a, b string) int {
				x, y := s.Core.Jobs[a], s.Core.Jobs[b]
				return cmp.Or(cmp.Compare(x.Gone, y.Gone), cmp.Compare(y.Order, x.Order))
			})
		}
		n := len(keys)/8 + 1
		for _, key := range keys[:n] {
			delete(s.Core.Jobs, key)
		}
		keys, dropped = keys[n:], dropped+n
	}
}

// save writes the state if it has changed.
func (e *Engine) save(ctx context.Context) {
	e.saving.Lock()
	defer e.saving.Unlock()
	if err := e.write(ctx); err != nil {
		e.metrics.stateErrors.Inc()
		e.Warn(ctx, "StateNotSaved", err.Error())
		if errors.Is(err, ErrReplaced) {
			e.stop(err)
		}
	}
}

func (e *Engine) write(ctx context.Context) error {
	saved, err := e.Core.Save()
	if err != nil {
		return fmt.Errorf("the policy's state: %w", err)
	}
	e.mu.RLock()
	s := state{Epoch: e.clock.epoch, Policy: e.runs, Settings: e.settings.data, Core: saved}
	e.mu.RUnlock()
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if bytes.Equal(text, e.written) {
		return nil
	}
	s.Now = e.clock.now()
	packed, dropped, err := s.pack()
	if err != nil {
		return err
	}
	m := e.stored.DeepCopy()
	m.BinaryData = map[string][]byte{stateKey: packed}
	maps := e.client.CoreV1().ConfigMaps(e.cfg.Namespace)
	m, err = maps.Update(ctx, m, metav1.UpdateOptions{})
	switch {
	case apierrors.IsNotFound(err):
		m = e.stored.DeepCopy()
		m.ResourceVersion, m.UID, m.BinaryData = "", "", map[string][]byte{stateKey: packed}
		m, err = maps.Create(ctx, m, metav1.CreateOptions{})
	case apierrors.IsConflict(err): // edited, or another replica's by now
		if m, err = maps.Get(ctx, StateName, metav1.GetOptions{}); err == nil {
			if m.Annotations[writerKey] != e.cfg.Identity {
				return ErrReplaced
			}
			m.BinaryData = map[string][]byte{stateKey: packed}
			m, err = maps.Update(ctx, m, metav1.UpdateOptions{})
		}
	}
	if err != nil {
		return err
	}
	e.stored, e.written = m, text
	e.metrics.stateBytes.Set(float64(len(packed)))
	e.metrics.stateDropped.Set(float64(dropped))
	return nil
}
