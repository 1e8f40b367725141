package spark

import "context"

// Ordered does work for every log on several processors, and hands the results to take in the order of the logs. No more results wait
// than there are workers, which bounds memory. It ends with the first error of take.
func Ordered[T any](ctx context.Context, logs []Log, workers int, work func(context.Context, *Log) T, take func(*Log, T) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	waiting := make(chan chan T, max(workers-1, 0)) // with the one that is being taken: as many as there are workers
	go func() {
		defer close(waiting)
		for i := range logs {
			done := make(chan T, 1)
			select {
			case waiting <- done:
				go func() { done <- work(ctx, &logs[i]) }()
			case <-ctx.Done():
				return
			}
		}
	}()
	n := 0
	for done := range waiting {
		if err := take(&logs[n], <-done); err != nil {
			return err
		}
		n++
	}
	return ctx.Err()
}
