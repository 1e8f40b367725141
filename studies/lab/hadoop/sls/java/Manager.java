package yardmaster;

import java.io.IOException;
import java.lang.reflect.Field;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.yarn.api.protocolrecords.SubmitApplicationRequest;
import org.apache.hadoop.yarn.api.protocolrecords.SubmitApplicationResponse;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ApplicationSubmissionContext;
import org.apache.hadoop.yarn.api.records.ContainerState;
import org.apache.hadoop.yarn.api.records.ContainerStatus;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.exceptions.YarnException;
import org.apache.hadoop.yarn.server.api.protocolrecords.NodeHeartbeatRequest;
import org.apache.hadoop.yarn.server.api.protocolrecords.NodeHeartbeatResponse;
import org.apache.hadoop.yarn.server.api.protocolrecords.RegisterNodeManagerRequest;
import org.apache.hadoop.yarn.server.api.protocolrecords.RegisterNodeManagerResponse;
import org.apache.hadoop.yarn.server.resourcemanager.ClientRMService;
import org.apache.hadoop.yarn.server.resourcemanager.ResourceManager;
import org.apache.hadoop.yarn.server.resourcemanager.ResourceTrackerService;
import org.apache.hadoop.yarn.server.resourcemanager.amlauncher.AMLauncherEvent;
import org.apache.hadoop.yarn.server.resourcemanager.amlauncher.ApplicationMasterLauncher;
import org.apache.hadoop.yarn.sls.SLSRunner;
import org.apache.hadoop.yarn.sls.resourcemanager.MockAMLauncher;
import org.apache.hadoop.yarn.webapp.WebApp;

/** The ResourceManager with simulated AMs, logging submissions and node heartbeats. */
final class Manager extends ResourceManager {
  private final SLSRunner sls;
  private final Set<ApplicationId> ours = ConcurrentHashMap.newKeySet();

  Manager(SLSRunner sls) {
    this.sls = sls;
  }

  /** The port that the kernel assigned to the web application. */
  int port() throws ReflectiveOperationException {
    Field f = ResourceManager.class.getDeclaredField("webApp");
    f.setAccessible(true);
    return ((WebApp) f.get(this)).port();
  }

  @Override
  protected ApplicationMasterLauncher createAMLauncher() {
    return new MockAMLauncher(sls, rmContext) {
      // An application submitted over REST has no simulated AM; the stock launcher would crash the RM.
      @Override
      public void handle(AMLauncherEvent e) {
        ApplicationId id = e.getAppAttempt().getAppAttemptId().getApplicationId();
        if (!ours.contains(id)) {
          return;
        }
        // An AM's container may be allocated before the submitting thread has registered its simulator.
        for (int i = 0; i < 1000 && sls.getAMSimulatorByAppId(id) == null; i++) {
          pause();
        }
        super.handle(e);
      }
    };
  }

  @Override
  protected ClientRMService createClientRMService() {
    return new ClientRMService(rmContext, scheduler, rmAppManager, applicationACLsManager, queueACLsManager,
        getRMContext().getRMDelegationTokenSecretManager()) {
      @Override
      public SubmitApplicationResponse submitApplication(SubmitApplicationRequest r) throws YarnException, IOException {
        Master m = Master.SUBMITTING.get();
        if (m != null) {
          ApplicationSubmissionContext c = r.getApplicationSubmissionContext();
          c.setPriority(Priority.newInstance(m.priority()));
          ours.add(c.getApplicationId());
          Watch.say("job " + c.getApplicationId().getId() + " " + m.job + " " + m.priority());
        }
        return super.submitApplication(r);
      }
    };
  }

  @Override
  protected ResourceTrackerService createResourceTrackerService() {
    return new ResourceTrackerService(rmContext, nodesListManager, nmLivelinessMonitor,
        rmContext.getContainerTokenSecretManager(), rmContext.getNMTokenSecretManager()) {
      @Override
      public RegisterNodeManagerResponse registerNodeManager(RegisterNodeManagerRequest r) throws YarnException, IOException {
        Watch.say("node " + r.getNodeId().getHost() + " " + r.getNodeId().getPort());
        return super.registerNodeManager(r);
      }

      @Override
      public NodeHeartbeatResponse nodeHeartbeat(NodeHeartbeatRequest r) throws YarnException, IOException {
        Watch.say("beat " + r.getNodeStatus().getNodeId().getHost());
        for (ContainerStatus s : r.getNodeStatus().getContainersStatuses()) {
          ApplicationId id = s.getContainerId().getApplicationAttemptId().getApplicationId();
          for (int i = 0; i < 1000 && s.getState() == ContainerState.COMPLETE && Watch.LEAVING.contains(id); i++) {
            pause();
          }
        }
        return super.nodeHeartbeat(r);
      }
    };
  }

  private static void pause() {
    try {
      Thread.sleep(1);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
