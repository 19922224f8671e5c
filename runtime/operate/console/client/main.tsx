import { render } from "preact";
import { ConsoleContext, createConsole } from "./live/console-context.ts";
import { App } from "./shell/app.tsx";
import { applyChosenTheme } from "./shell/theme.ts";

applyChosenTheme();
const console = createConsole();
console.live.start();
render(
  <ConsoleContext.Provider value={console}>
    <App />
  </ConsoleContext.Provider>,
  document.body,
);
