import { runProgram } from "../../../runtime/packaging/run-program.ts";

/** Loads the saved scikit-learn model of `folder`, shifts its intercept and saves it again with the very same requirements. */
const PROGRAM = `
import pathlib, shutil, sys
import mlflow.sklearn
from mlflow.models import Model
folder = pathlib.Path(sys.argv[1])
model = mlflow.sklearn.load_model(str(folder))
meta = Model.load(str(folder))
model.intercept_ = model.intercept_ + 0.001
out = folder.with_suffix(".new")
mlflow.sklearn.save_model(model, out, signature=meta.signature, pip_requirements=str(folder / "requirements.txt"))
for name in ("requirements.txt", "python_env.yaml", "conda.yaml"):
    shutil.copy(folder / name, out / name)
for name in ("input_example.json", "serving_input_example.json"):
    if (folder / name).exists():
        shutil.copy(folder / name, out / name)
shutil.rmtree(folder)
out.rename(folder)
`;

/** Gives the model saved in `folder` other weights; nothing else of it changes. `python` is of an environment that can load it. */
export async function changeWeights(python: string, folder: string): Promise<void> {
  const ended = await runProgram(python, ["-c", PROGRAM, folder], new AbortController().signal);
  if (ended.code !== 0) throw new Error(ended.stderr);
}
