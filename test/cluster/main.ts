/** A real one-node Kubernetes cluster on this machine, for tests. Usage: npm run cluster -- up | down | status | exec COMMAND... */
import { UserError } from "../../runtime/core/errors.ts";
import { enterCluster, findCluster, startCluster, stopCluster } from "./cluster.ts";
import { KUBECONFIG } from "./layout.ts";

const USAGE = `usage: npm run cluster -- up | down | status | exec COMMAND...
  up      starts a control plane and a node (as root; programs by \`npm run tools\`)
  exec    runs a command in the cluster's network, e.g. \`npm run cluster -- exec kubectl get nodes\`
  down    ends it and leaves nothing behind`;

async function main([action, ...command]: readonly string[]): Promise<number> {
  switch (action) {
    case "up": {
      const { readySeconds } = await startCluster((line) => console.log(line));
      console.log(
        `The cluster is ready (${readySeconds} s). KUBECONFIG=${KUBECONFIG} inside \`npm run cluster -- exec\`.`,
      );
      return 0;
    }
    case "down":
      await stopCluster();
      console.log("The cluster is down.");
      return 0;
    case "status": {
      const running = findCluster();
      console.log(running === null ? "down" : running.readySeconds === null ? "starting" : `up, pid ${running.pid}`);
      return running === null ? 3 : 0;
    }
    case "exec":
      return enterCluster(command);
    default:
      console.error(USAGE);
      return 2;
  }
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof UserError)) throw error;
  console.error(`error: ${error.message}\ntodo: ${error.todo}`);
  process.exitCode = 1;
}
