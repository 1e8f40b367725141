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
 * Writes the log, one short line for every event that drives the scheduler. The first word is its kind:
 *
 * <pre>
 *   zero E         time 0 of the trace is epoch millisecond E; base E: the log's own clock started at E
 *   node HOST PORT a node has registered
 *   web PORT       where the RM answers REST
 *   job A ID P     application A is job ID of the trace, submitted now with priority P
 *   add A / rem A  the scheduler added / removed the attempt of application A
 *   ask A N        the RM called the scheduler for A (the AM's request when N is 1)
 *   tick A         the simulated AM of A has started its new containers and calls; call A N: the call reached the
 *                  scheduler, with N changed requests
 *   got A C NODE P MB V   an allocate of A was answered with container C on NODE
 *   am A           the AM of A was launched
 *   beat NODE      a node has checked which of its containers have ended, and its heartbeat reached the RM
 *   pass NODE      the scheduler began to serve it; done NODE: it has
 *   mark A C / kill A C  the preemption monitor selected / killed container C of A
 *   round / over   a round of the preemption monitor or of the fair shares began / ended
 *   unordered      what follows on this thread may overlap with other work of the scheduler
 *   end A          the AM of A has unregistered
 *   all N F T      all N applications have ended, F of them abnormally; T ms of CPU time were used
 * </pre>
 */
final class Watch {
  static final Logger LOG = LoggerFactory.getLogger("y");

  /** The application whose AM runs on this thread: distinguishes its calls from those of the RM itself. */
  static final ThreadLocal<ApplicationId> TICKING = new ThreadLocal<>();

  /** AMs that are unregistering: their node must not report their container as completed before they are done. */
  static final Set<ApplicationId> LEAVING = ConcurrentHashMap.newKeySet();

  /**
   * Held while the scheduler serves a node, adds an application, runs a round or answers an AM, so that the order of
   * the log is the order of its decisions: without it a request could become visible in the middle of a pass. Which of the
   * two comes first remains a race as before. Acquiring it times out and continues without it: we must not block the scheduler.
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
