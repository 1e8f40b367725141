package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/internal/build"
	"github.com/yardmaster/yardmaster/yarn/krb"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

// login has the addresses of the ResourceManagers and the credentials: the flags of every verb that connects to a cluster.
type login struct {
	rm     []string
	user   string
	krb    krb.Options
	spnego bool
	tls    rest.TLS

	timeout time.Duration // 0: as without the flag
}

// addRM adds the flag for the ResourceManagers.
func (l *login) addRM(cmd *cobra.Command) {
	cmd.Flags().StringSliceVar(&l.rm, "rm", nil, "web `URL` of the ResourceManager; several separated by commas")
}

// addTimeout adds the flag for the time that a command, or a step of it, may take.
func (l *login) addTimeout(cmd *cobra.Command, otherwise time.Duration, what string) {
	cmd.Flags().DurationVar(&l.timeout, "timeout", otherwise, what)
}

// startWithin is the default timeout for each step of the start that queries the ResourceManager: what it is, whether it can be
// changed, what it shows.
const startWithin = time.Minute

// stepHelp describes --timeout of commands with several such steps.
const stepHelp = "max `TIME` for a step that asks the ResourceManager"

// inTime runs a step that asks the ResourceManager.
func (l *login) inTime(ctx context.Context, step func(context.Context) error) error {
	limit := cmp.Or(l.timeout, startWithin)
	in, stop := context.WithTimeout(ctx, limit)
	defer stop()
	err := step(in)
	if err != nil && in.Err() != nil && ctx.Err() == nil {
		return tooSlow(limit, err)
	}
	return err
}

func tooSlow(limit time.Duration, err error) error {
	return fmt.Errorf("the ResourceManager has not given a complete response within %v: is it overloaded, or is a gateway in between? --timeout gives it more time (%w)", limit, err)
}

// addWho adds the flags for authentication.
func (l *login) addWho(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&l.user, "user", "", "user `NAME`, without Kerberos; default: this account")
	fs.BoolVar(&l.spnego, "kerberos", false, "log in with Kerberos: with existing tickets, or with --keytab")
	fs.StringVar(&l.krb.Principal, "principal", "", "`NAME` to log in as")
	fs.StringVar(&l.krb.Keytab, "keytab", "", "keytab `FILE` of --principal")
	fs.StringVar(&l.krb.Config, "krb5-conf", "", "Kerberos configuration `FILE`; default: $KRB5_CONFIG or /etc/krb5.conf")
	fs.StringVar(&l.tls.CAFile, "ca", "", "PEM `FILE` of additional certificate authorities to trust")
	setGroup(fs, inLogin, "user", "kerberos", "principal", "keytab", "krb5-conf", "ca")
}

// args are the flags that make another process of this command use the same servers and credentials.
func (l *login) args() []string {
	kerberos := ""
	if l.spnego {
		kerberos = "true"
	}
	var a []string
	for _, u := range l.rm {
		a = append(a, flagArgs("rm", u)...)
	}
	return append(a, flagArgs("user", l.user, "kerberos", kerberos, "principal", l.krb.Principal, "keytab", absolute(l.krb.Keytab),
		"krb5-conf", absolute(l.krb.Config), "ca", absolute(l.tls.CAFile))...)
}

// flagArgs are names and values as arguments, without those that have no value.
func flagArgs(pairs ...string) (args []string) {
	for pair := range slices.Chunk(pairs, 2) {
		if pair[1] != "" {
			args = append(args, "--"+pair[0]+"="+pair[1])
		}
	}
	return args
}

// absolute makes a path absolute, so that it works from any folder.
func absolute(path string) string {
	if path == "" {
		return ""
	}
	if a, err := filepath.Abs(path); err == nil {
		return a
	}
	return path
}

// found makes a command work from any folder and with any PATH. A path with blanks, which this command line cannot hold, stays as it is.
func found(command string) string {
	words := strings.Fields(command)
	if len(words) == 0 {
		return ""
	}
	path, err := exec.LookPath(words[0])
	if path = absolute(path); err != nil || len(strings.Fields(path)) != 1 {
		return command
	}
	words[0] = path
	return strings.Join(words, " ")
}

// client completes the options and makes a client.
func (l *login) client(o rest.Options) (*rest.Client, error) {
	auth, err := l.auth()
	if err != nil {
		return nil, err
	}
	return l.clientAs(auth, o)
}

func (l *login) clientAs(auth rest.Auth, o rest.Options) (*rest.Client, error) {
	o.RM, o.TLS, o.Auth, o.UserAgent = l.rm, l.tls, auth, "yardmaster/"+build.Version()
	return rest.New(o)
}

// auth is the authentication; nil: none.
func (l *login) auth() (rest.Auth, error) {
	if l.spnego || l.krb.Keytab != "" || l.krb.Principal != "" {
		a, err := krb.New(l.krb)
		if err != nil {
			return nil, err
		}
		return a, nil
	}
	name := l.user
	if name == "" {
		name = account()
	}
	if name == "" {
		return nil, nil
	}
	return rest.User(name), nil
}

// account is the name of the user who runs this command, as Hadoop's own clients determine it.
func account() string {
	for _, v := range []string{"HADOOP_USER_NAME", "USER", "LOGNAME"} {
		if s := os.Getenv(v); s != "" {
			return s
		}
	}
	if u, err := user.Current(); err == nil { // cron jobs have no such variables
		return u.Username
	}
	return ""
}
