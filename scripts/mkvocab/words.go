package main

// The words below are everyday ones, written down for this program; spelled.go makes their forms.

const plainWords = `
the a an and or but nor so yet if then else when while where why how what who whom whose which that this these those
there here now today tomorrow yesterday always never often sometimes usually rarely again once twice already still just only
even also too very much many more most less least few several some any all both each every either neither none no not
of in on at by for with from to into onto over under above below between among through during before after since until
about against along around across behind beside beyond near off out up down toward without within upon per via than as like
I you he she it we they me him her us them my your his its our their mine yours hers ours theirs myself yourself itself
themselves be am is are was were been being have has had having do does did done doing will would shall should can could
may might must ought need let lets one two three four five six seven eight nine ten hundred thousand million first second
third last next other another same such own because although though unless whether however therefore thus hence instead
otherwise perhaps maybe quite rather almost enough nearly together apart away back forward ahead ever else yes okay please
thanks hello dear sorry everything something anything nothing everyone someone anyone nobody everywhere somewhere anywhere
nowhere whatever whenever wherever whoever somehow anyway besides meanwhile moreover furthermore nevertheless actually
really simply certainly probably possibly exactly especially particularly generally finally recently currently eventually
Monday Tuesday Wednesday Thursday Friday Saturday Sunday January February March April May June July August September October
November December went gone said told made took taken gave given got came come became knew known thought saw seen felt found
left kept held brought bought built sent spent meant lost won paid wrote written read ran run began begun chose chosen spoke
spoken broke broken drew drawn drove driven ate eaten fell fallen flew flown forgot forgotten grew grown hid hidden rose
shown sang stood swam threw thrown understood woke wore men women children people feet teeth mice data criteria indices
vertices matrices analyses better best worse worst`

const nouns = `
time year day week month hour minute moment morning evening night noon season spring summer autumn winter man woman child
friend family mother father brother sister son daughter parent baby boy girl person neighbor guest group team company
office school class student teacher book page chapter letter word sentence paragraph question answer problem solution idea
thought reason fact story history name number list table chart picture image photo map color shape size line point circle
square corner side edge top bottom center middle front end start place home house room door window wall floor roof kitchen
garden street road bridge city town village country state world earth sky sun moon star sea ocean river lake mountain hill
forest tree leaf flower grass field farm animal dog cat bird fish horse cow food bread water milk coffee tea sugar salt meat
fruit apple orange lemon vegetable potato tomato rice dinner lunch breakfast cup glass plate knife spoon bottle box bag key
clock phone computer machine engine car bus train plane ship boat wheel motor tool hammer paper pen pencil desk chair bed
light lamp fire smoke air wind rain snow storm cloud weather heat cold temperature degree weight length height width depth
distance speed rate force power energy pressure sound noise voice music song game sport ball player score match race prize
money price cost bank market shop store customer business industry trade product service order payment account bill tax law
rule right court judge police crime war peace army soldier leader president minister government party vote election nation
border language culture art film movie theater museum church religion god spirit soul mind body head face eye ear nose mouth
tooth hair hand arm finger leg foot heart blood bone skin brain health doctor nurse hospital medicine disease pain death
life birth age youth science theory method experiment result test sample measure unit value range average total sum
difference ratio percent fraction formula equation function variable constant parameter argument system process step stage
phase level layer part piece element component structure model pattern design plan project task job work worker role skill
experience knowledge education training course lesson exam grade degree paper report article journal newspaper news event
meeting conference visit trip travel journey holiday vacation hotel ticket passport airport station weekend birthday gift
surprise dream hope fear love hate anger joy happiness sadness interest attention memory mistake error fault failure success
chance risk danger safety security protection defense attack threat choice decision option preference opinion view belief
truth lie secret promise agreement contract condition situation case example instance detail information message note
signal sign symbol code file folder directory path link address network server client host port protocol request response
header session cookie token password user admin permission policy database query record column row index schema query
transaction backup cache buffer queue stack heap tree node graph edge array vector matrix string character byte bit integer
float boolean object property attribute method interface module package library framework application program script
command terminal shell process thread memory disk device driver kernel compiler debugger editor browser cursor button menu
dialog tab window screen keyboard mouse printer camera sensor robot satellite planet galaxy atom molecule cell gene virus
bacteria species evolution climate environment pollution resource material metal iron steel gold silver copper wood plastic
stone sand glass cloth cotton wool leather oil gas coal fuel battery wire cable circuit switch plug pipe valve pump tank
area region zone district island coast beach desert valley cave rock path trail track field stadium
template prompt parser decoder encoder writer reader scanner handler listener channel stream chunk segment block frame
packet event timer clock deadline timeout budget limit quota threshold metric counter gauge histogram trace span log
warning exception assertion fixture benchmark coverage release version branch commit merge conflict patch review issue
ticket milestone deployment container image cluster replica node pod volume secret config environment variable flag default
override plugin extension adapter wrapper proxy gateway router balancer registry repository workspace dependency license
author owner maintainer contributor reviewer tenant customer subscription invoice region language model weight gradient loss
tensor dimension embedding attention layer vocabulary corpus dataset label prediction inference accuracy precision recall`

const verbs = `
accept achieve act add admit advise affect agree aim allow announce answer appear apply approach argue arrange arrive ask
assume attach attempt attend avoid base bake beat behave believe belong blame borrow bother bounce breathe burn call cancel
care carry cause celebrate change charge chase check cheer choose claim clean clear climb close collect combine comment
compare compete complain complete compute concern conclude confirm connect consider consist contain continue contribute
control convert convince cook copy correct count cover crash create cross cry damage dance deal decide declare decrease
define delay delete deliver demand deny depend describe deserve design destroy detect determine develop die differ direct
disable disappear discover discuss display divide download draw dress drop earn edit employ enable encode encourage end
enjoy ensure enter escape establish estimate evaluate examine execute exist expand expect explain explore export express
extend extract face fail fetch fill filter find finish fit fix flow fold follow force form format forward gain gather
generate get give go grab grow guarantee guard guess guide handle happen help hide hit hold hurry identify ignore imagine
implement imply import impress improve include increase indicate influence inform insert insist inspect install intend
introduce invent invest invite invoke involve iterate join judge jump keep kick kill knock know label land laugh launch lead
learn leave lift limit link listen live load locate lock log look lose maintain make manage mark match matter measure mention
merge migrate miss modify monitor move name need notice obtain occur offer open operate optimize order organize own paint
parse pass pause pay perform permit pick place plan play point post pour practice prefer prepare present press prevent print
proceed process produce promise propose protect prove provide publish pull push put query quote raise reach react read
realize receive recognize recommend record recover reduce refer reflect refuse register reject relate release rely remain
remember remove rename render repair repeat replace reply report represent request require reset resolve respond rest
restart restore retry return reveal review rewrite rise roll rotate run save say scan schedule search select send separate
serve set share shift show shut sign simplify sit sleep smile solve sort sound speak specify spend split spread stand start
state stay step stop store stream stretch strip study submit succeed suffer suggest supply support suppose surprise survive
suspect switch take talk taste teach tell tend test thank think throw touch trace track trade transfer transform translate
travel treat trigger truncate trust try turn type understand unlock update upgrade upload use validate vary verify view visit
wait wake walk wander want warn wash waste watch wear weigh win wish wonder work worry wrap write yield`

const qualities = `
able active actual afraid ancient angry automatic available average aware bad basic beautiful big bitter blank blind blue
bold brave brief bright broad brown busy calm careful certain cheap clean clear clever clinical close cold comfortable common
complete complex conscious constant convenient cool correct crazy critical cruel curious current daily dangerous dark dead
deep deliberate dense different difficult digital direct dirty distant dry dull eager early easy economic educational
effective efficient elegant electric electronic empty entire equal essential even evident exact excellent exciting expensive
explicit external extra extreme fair false familiar famous fast fat final financial fine firm flat flexible foreign formal
free frequent fresh friendly full funny future general gentle genuine global golden good gradual grand gray great green gross
guilty happy hard harmful healthy heavy helpful high historical honest hot huge human hungry ideal illegal immediate
important impossible independent individual initial inner innocent intelligent intense internal international large late lazy
legal light likely linear literal little local logical lonely long loose loud low lucky mad main major manual massive mature
maximum mean medical mental mild military minimum minor missing mixed mobile modern moral multiple mutable narrow national
native natural neat necessary negative nervous neutral new nice nominal normal obvious odd official old open optional
ordinary original outer overall pale parallel partial past patient perfect permanent personal physical pink plain pleasant
polite political poor popular positive possible potential practical precise present previous primary private probable
professional proper proud public pure quick quiet random rapid rare raw ready real reasonable recent red regular relative
relevant reliable remote responsible rich rough round royal rude rural sad safe scientific secret secure sensitive separate
serious sharp short shy sick significant silent similar simple single slight slow small smart smooth social soft solid
special specific stable standard static steady steep strange strict strong stupid subtle successful sudden sufficient
suitable sweet tall technical temporary terrible thick thin tight tiny tired total tough traditional typical ugly unique
unusual upper urban urgent useful usual valid valuable various vast violent virtual visible visual warm weak weird wet white
whole wide wild wise wonderful wooden wrong yellow young`

const codeWords = `
func return package import type struct interface map chan range switch case default break continue goto defer go select const
var nil true false string int int32 int64 uint8 uint32 uint64 byte rune float64 bool error append make len cap copy delete
panic recover context ctx err ok fmt errors strings bytes bufio io os sync time http json class def self None True False
lambda yield async await try except finally raise with elif pass assert print input open list dict tuple set super init
public private protected static void final abstract extends implements throws throw catch new this null undefined function
let export module require typeof instanceof console document window Promise Array Object String Number Boolean Map Set enum
impl trait pub mut fn match loop use mod crate self unsafe where Vec Option Result Some Ok Err println include define ifdef
endif ifndef pragma template typename namespace std vector iterator nullptr sizeof char short long double unsigned signed
echo export grep sed awk cat ls cd mkdir rm cp mv chmod chown sudo apt git commit push pull clone checkout status diff docker
kubectl npm yarn pip cargo SELECT FROM WHERE INSERT INTO VALUES UPDATE DELETE CREATE TABLE INDEX JOIN LEFT RIGHT INNER OUTER
GROUP ORDER BY LIMIT AND OR NOT NULL PRIMARY KEY html head body div span script style href src title meta link form button
input label table tr td th ul li ol img alt class id name value width height margin padding border color background font
https www com org net utf charset application text content description properties required additionalProperties
object array string number integer boolean enum items arguments parameters function tool name type role user assistant system
file_path command pattern query url path old_string new_string limit offset timeout output message model messages tools
reasoning stream usage tokens prompt finish_reason stop length README LICENSE HTTP API URL JSON XML HTML CSS SQL CPU GPU
RAM UTF ID UUID TCP UDP DNS TLS SSH SSE RPC`
