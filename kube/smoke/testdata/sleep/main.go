// Sleep is what the pods of the tests run: it sleeps for so many seconds, or until it is stopped.
package main

import (
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

func main() {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)
	var over <-chan time.Time
	if len(os.Args) > 1 {
		seconds, err := strconv.Atoi(os.Args[1])
		if err != nil {
			os.Exit(1)
		}
		over = time.After(time.Duration(seconds) * time.Second)
	}
	select {
	case <-over:
	case <-stop:
	}
}
