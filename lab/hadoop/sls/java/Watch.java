package yardmaster;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.Allocation;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.ContainerPreemptEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppAttemptAddedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppAttemptRemovedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeUpdateSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.SchedulerEvent;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What is written to the log, one short line for every event that moves the scheduler. The first word says what it is:
 *
 * <pre>
 *   zero E         time 0 of the trace is epoch millisecond E; base E: the log's own clock started at E
 *   node HOST PORT a node has registered
 *   web PORT       where the RM answers REST
 *   job A ID P     application A is job ID of the trace, submitted now with priority P
 *   add A / rem A  the scheduler took / dropped the attempt of application A
 *   ask A N        the RM called the scheduler for A (its master's request when N is 1)
 *   tick A         the simulated master of A has started what it was given and calls; call A N: the call reached the
 *                  scheduler, with N changed requests
 *   got A C NODE P MB V   an allocate of A was answered with container C on NODE
 *   am A           the master of A was launched
 *   beat NODE      a node has looked which of its containers have ended, and its heartbeat reached the RM
 *   pass NODE      the scheduler began to serve it; done NODE: it has
 *   mark A C / kill A C  the preemption monitor chose container C of A / took it away
 *   round / over   a round of the preemption monitor or of the fair shares began / ended
 *   unordered      what follows on this thread may fall into something else that the scheduler does
 *   end A          the master of A has unregistered
 *   all N F T      all N applications have ended, F of them not as they should; T ms of processor time were used
 * </pre>
 */
final class Watch {
  static final Logger LOG = LoggerFactory.getLogger("y");

  /** The application whose master runs on this thread: tells its calls from those of the RM itself. */
  static final ThreadLocal<ApplicationId> TICKING = new ThreadLocal<>();

  /** Masters that are unregistering: their node must not report their container gone before they are done. */
  static final Set<ApplicationId> LEAVING = ConcurrentHashMap.newKeySet();

  /**
   * Held while the scheduler serves a node, takes in an application, looks around or answers a master, so that the order of
   * the log is the order of its decisions: without it a request could become visible in the middle of a pass. Which of the
   * two comes first is left to chance as before. Whoever does not get it soon goes on without it: nothing may hang on us.
   */
  private static final ReentrantLock ORDER = new ReentrantLock(true);

  private Watch() {}

  static boolean enter() {
    try {
      if (ORDER.tryLock(2, TimeUnit.SECONDS)) {
        return true;
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    say("unordered");
    return false;
  }

  static void leave(boolean entered) {
    if (entered) {
      ORDER.unlock();
    }
  }

  static void say(String s) {
    LOG.info(s);
  }

  static void before(SchedulerEvent e) {
    switch (e.getType()) {
      case NODE_UPDATE:
        say("pass " + ((NodeUpdateSchedulerEvent) e).getRMNode().getHostName());
        break;
      case APP_ATTEMPT_ADDED:
        say("add " + number(((AppAttemptAddedSchedulerEvent) e).getApplicationAttemptId()));
        break;
      case APP_ATTEMPT_REMOVED:
        say("rem " + number(((AppAttemptRemovedSchedulerEvent) e).getApplicationAttemptID()));
        break;
      case MARK_CONTAINER_FOR_PREEMPTION:
        say("mark " + name(((ContainerPreemptEvent) e).getContainer().getContainerId()));
        break;
      case MARK_CONTAINER_FOR_KILLABLE:
        say("kill " + name(((ContainerPreemptEvent) e).getContainer().getContainerId()));
        break;
      default:
    }
  }

  static void after(SchedulerEvent e) {
    switch (e.getType()) {
      case NODE_UPDATE:
        say("done " + ((NodeUpdateSchedulerEvent) e).getRMNode().getHostName());
        break;
      default:
    }
  }

  static void calling(ApplicationAttemptId a, int asks) {
    say((TICKING.get() == null ? "ask " : "call ") + number(a) + " " + asks);
  }

  static void called(ApplicationAttemptId a, Allocation got) {
    if (got == null || got.getContainers() == null) {
      return;
    }
    for (Container c : got.getContainers()) {
      say("got " + number(a) + " " + number(c.getId()) + " " + c.getNodeId().getHost() + " " + c.getPriority().getPriority() + " "
          + c.getResource().getMemorySize() + " " + c.getResource().getVirtualCores());
    }
  }

  static int number(ApplicationAttemptId a) {
    return a.getApplicationId().getId();
  }

  static String name(ContainerId c) {
    return number(c.getApplicationAttemptId()) + " " + number(c);
  }

  static long number(ContainerId c) {
    return c.getContainerId() & ContainerId.CONTAINER_ID_BITMASK;
  }
}
