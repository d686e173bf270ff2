// Reads {schema, values} from stdin; prints for each value null, or what ajv complains of.
import { readFileSync } from "node:fs";
import Ajv from "ajv/dist/2020.js";

const { schema, values } = JSON.parse(readFileSync(0, "utf8"));
const check = new Ajv.default({ strict: true, allErrors: true }).compile(schema);
const told = values.map((value) =>
  check(value) ? null : check.errors.map((error) => `${error.instancePath} ${error.message}`),
);
console.log(JSON.stringify(told));
